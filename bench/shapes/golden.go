package shapes

import (
	"encoding/hex"

	"github.com/filgroth/filgroth/synth"
)

// Golden is the row digest that the deployed stack (rust-fil-proofs commit 87348a7 over bellperson 0.27.0) gives for the shape; false
// where nobody has computed it (64 GiB).
func (s Shape) Golden() (d synth.Digest, ok bool) {
	b, err := hex.DecodeString(golden[s.String()])
	if err != nil || len(b) != len(d) {
		return d, false
	}
	return synth.Digest(b), true
}

var golden = map[string]string{
	"porep-2k":     "c48acf08e6220b0839cc17ab449cb1bf5d81d70f6c4048d301be4cadb3658429",
	"porep-8m":     "41eb0931d976566782164f2aa18f26c7fe6cc7a1c4d467bf7afca912f339c920",
	"porep-512m":   "add96459eedc02101315804462e19733fdec2594cfcba585a78a4302a484bd59",
	"porep-32g":    "86a77ddcb20e46c8f18866c40276b89d63bc6524e68562b81c6e6961cffff756",
	"winning-2k":   "a770d642c8b6425a6f575cc4e8812bb7d57030c907a260100880ea83edebcb71",
	"winning-8m":   "a1aa1b70d68c5d284844a23b9afecf36f4dccbfe3450c9a76e5e06f99f0bcd4f",
	"winning-512m": "ebc86f72d378286519b3077fe6436011931dcf805db8b1fe96758f73c8204e00",
	"winning-32g":  "952195f3ab45afe853212e9fa8e11d7ed4bec4122ba263e426ccd3fba1278f94",
	"window-2k":    "8a2c0d48ccf8b908cc1f015ea64e386a11e0349a5c94a30aa34a8f8e5f37f779",
	"window-8m":    "66ede5a29eb8887c75d8a02fd0a10e7a3313ea7575d924b80701376e268990ca",
	"window-512m":  "56c368af21afc875133de71463403b571c970bee2025ccb24b9f77159d90a454",
	"window-32g":   "767c39b95466ce5e90a649f136678bd38a19fff94e2bb4a2efe3b8171dd25b97",
	"update-2k":    "f7df72b4a9d40db05f2f02b87e70bbf5887c14242c918579423673a3fc85ab35",
	"update-8m":    "e24acc86f8c17835410a3e73d0b447faa04538d7bc3302be2fb45e3f68bd0dbf",
	"update-512m":  "7cf744c996fe422c67a666cbe9036b32a2e676692aa5a02a94d4c213c93246f9",
	"update-32g":   "6e85c79f3e15c908360e87e0e8f074f5811aa443c2891fd246334bf1e43b8a6b",
}
