package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func load(t *testing.T, text string) (Config, error) {
	path := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path)
}

// every key of the structs stands in the example, below a comment, and the other way round
func TestExampleIsComplete(t *testing.T) {
	c := Default()
	require.NoError(t, c.Validate())
	_, err := load(t, Example)
	require.NoError(t, err)
	sections := reflect.TypeFor[Config]()
	keys := 0
	for i := range sections.NumField() {
		f := sections.Field(i)
		_, rest, ok := strings.Cut(Example, "\n["+f.Tag.Get("toml")+"]\n")
		require.True(t, ok, "section of %s", f.Name)
		section, _, _ := strings.Cut(rest, "\n[")
		for k := range f.Type.NumField() {
			key := f.Type.Field(k).Tag.Get("toml")
			require.NotEmpty(t, key, f.Type.Field(k).Name)
			require.Contains(t, "\n"+section, "\n"+key+" = ", "%s.%s", f.Name, key)
			keys++
		}
	}
	require.Equal(t, keys, strings.Count(Example, " = "), "nothing else looks like a key")
	require.Equal(t, Bytes(256<<20), c.Queue.MaxRequest)
}

func TestStrict(t *testing.T) {
	c, err := load(t, "[queue]\nsize = 7\n")
	require.NoError(t, err)
	require.Equal(t, 7, c.Queue.Size)
	require.Equal(t, 2, c.Queue.Running, "the rest keeps its default")
	for text, says := range map[string]string{
		"[queue]\nsise = 7\n":                  "sise",
		"[qeue]\nsize = 7\n":                   "qeue",
		"[queue]\nsize = 0\n":                  "queue.size",
		"[queue]\nsize = \"7\"\n":              "line 2",
		"[queue]\nmax_request = \"7\"\n":       "size",
		"[queue]\nmax_request = \"2GiB\"\n":    "max_request",
		"[queue]\nspool_bytes = \"1MiB\"\n":    "spool_bytes",
		"[queue]\nageing = \"5\"\n":            "unit",
		"[queue]\nconflict = \"ask\"\n":        "conflict",
		"[engine]\ndevices = \"0,0\"\n":        "devices",
		"[engine]\ndevices = \"\"\n":           "devices",
		"[engine]\nparameters = \"\"\n":        "parameters",
		"[log]\nlevel = \"loud\"\n":            "level",
		"[log]\nformat = \"xml\"\n":            "format",
		"[state]\ndir = \"\"\n":                "state.dir",
		"[listen]\ngrpc = []\n":                "neither",
		"[listen]\ngrpc = [\"localhost\"]\n":   "port",
		"[listen]\ngrpc = [\"localhost:x\"]\n": "port",
		"[security]\ntls_cert = \"x\"\n":       "together",
		"[memory]\nhigh_percent = 101\n":       "high_percent",
		"= 1\n":                                "line 1",
	} {
		_, err := load(t, text)
		require.ErrorIs(t, err, ErrConfig, text)
		require.ErrorContains(t, err, says)
	}
	_, err = Load(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPublicAddressesNeedTLSAndTokens(t *testing.T) {
	for _, a := range []string{"127.0.0.1:1", "[::1]:1", "localhost:1", "127.8.9.10:1"} {
		for _, key := range []string{"grpc = [%]", "http = %"} {
			_, err := load(t, "[listen]\n"+strings.ReplaceAll(key, "%", `"`+a+`"`)+"\n")
			require.NoError(t, err, a)
		}
	}
	for _, a := range []string{"0.0.0.0:1", ":1", "[::]:1", "10.0.0.1:1", "prover.example:1", "[fe80::1%eth0]:1"} {
		for _, key := range []string{"grpc = [%]", "grpc = [\"127.0.0.1:5\", %]", "http = %"} {
			text := "[listen]\n" + strings.ReplaceAll(key, "%", `"`+a+`"`) + "\n"
			_, err := load(t, text)
			require.ErrorIs(t, err, ErrConfig, a)
			require.ErrorContains(t, err, "token_file")
			_, err = load(t, text+"[security]\ntls_cert = \"c\"\ntls_key = \"k\"\n")
			require.ErrorIs(t, err, ErrConfig, "TLS alone")
			_, err = load(t, text+"[security]\ntoken_file = \"t\"\n")
			require.ErrorIs(t, err, ErrConfig, "tokens alone")
			_, err = load(t, text+"[security]\ntoken_file = \"t\"\ntls_cert = \"c\"\ntls_key = \"k\"\n")
			require.NoError(t, err)
		}
	}
}

func TestValues(t *testing.T) {
	for s, want := range map[string]Bytes{"0": 0, "1B": 1, "3KiB": 3 << 10, "5 MiB": 5 << 20, "64GiB": 64 << 30, "2TiB": 2 << 40} {
		var b Bytes
		require.NoError(t, b.UnmarshalText([]byte(s)), s)
		require.Equal(t, want, b)
		var again Bytes
		require.NoError(t, again.UnmarshalText([]byte(b.String())))
		require.Equal(t, want, again)
	}
	for _, s := range []string{"", "1", "-1B", "1.5GiB", "GiB", "9999999999TiB", "1GB"} {
		var b Bytes
		require.ErrorIs(t, b.UnmarshalText([]byte(s)), ErrConfig, s)
	}
	o, auto, err := Engine{Devices: "0, 2"}.Ordinals()
	require.NoError(t, err)
	require.False(t, auto)
	require.Equal(t, []int{0, 2}, o)
}
