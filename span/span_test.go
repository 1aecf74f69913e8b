package span

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNoRecorderRecordsNothing(t *testing.T) {
	ctx := context.Background()
	ctx2, s := Start(ctx, "x")
	require.Nil(t, s)
	require.Equal(t, ctx, ctx2)
	s.SetLane("gpu0")
	s.AddBytes(3)
	s.SetAttr(Int("a", 1))
	s.End()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, s := Start(ctx, "x")
		s.End()
	}))
	rec := NewRecorder()
	_, s = Start(With(With(ctx, rec), nil), "x")
	s.End()
	require.Empty(t, rec.Records())
}

func TestNesting(t *testing.T) {
	rec := NewRecorder()
	ctx := With(context.Background(), rec)
	ctx, outer := Start(ctx, "outer", Int("n", 5))
	outer.SetLane("gpu0")
	_, inner := Start(ctx, "inner")
	inner.AddBytes(10)
	inner.AddBytes(5)
	inner.SetAttr(String("k", "v"))
	inner.SetAttr(String("k", "w"))
	require.True(t, rec.Records()[1].Open)
	inner.End()
	inner.End()
	outer.End()
	got := rec.Records()
	require.Len(t, got, 2)
	require.Equal(t, "outer", got[0].Name)
	require.Equal(t, []Attr{{"n", 5}}, got[0].Attrs)
	require.Equal(t, got[0].ID, got[1].Parent)
	require.Equal(t, "gpu0", got[1].Lane)
	require.EqualValues(t, 15, got[1].Bytes)
	require.Equal(t, []Attr{{"k", "w"}}, got[1].Attrs)
	require.LessOrEqual(t, got[0].Start, got[1].Start)
	require.LessOrEqual(t, got[1].End, got[0].End)
	require.False(t, got[1].Open)
}

func TestConcurrentAndLimit(t *testing.T) {
	rec := NewRecorderLimit(50)
	var mu sync.Mutex
	events := 0
	rec.Listen(func(Record) { mu.Lock(); events++; mu.Unlock() })
	ctx := With(context.Background(), rec)
	var wg sync.WaitGroup
	for i := 0; i < 10; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < 10; j++ {
				_, s := Start(ctx, "w")
				s.AddBytes(1)
				s.End()
			}
		}()
	}
	wg.Wait()
	require.Len(t, rec.Records(), 50)
	require.Equal(t, 50, rec.Dropped())
	require.Equal(t, 100, events)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func sample() []Record {
	return []Record{
		{ID: 1, Name: "prove", Lane: "cpu", Start: 0, End: ms(100)},
		{ID: 2, Parent: 1, Name: "msm.h", Lane: "cpu", Start: ms(10), End: ms(60), Bytes: 99},
		{ID: 3, Parent: 1, Name: "msm.h", Lane: "cpu", Start: ms(40), End: ms(80), Bytes: 1},
		{ID: 4, Parent: 1, Name: "a<b&\"", Lane: "gpu0", Start: ms(10), End: ms(20), Attrs: []Attr{{"n", 3}}},
		{ID: 5, Parent: 1, Name: "open", Lane: "gpu0", Start: ms(15), Open: true},
	}
}

func TestSummarize(t *testing.T) {
	got := Summarize(sample())
	require.Len(t, got, 3)
	require.Equal(t, Summary{"msm.h", "cpu", 2, ms(90), ms(70), 100}, got[1])
}

// In a Chrome trace, spans of one thread must nest or be apart.
func TestChromeTrace(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteChromeTrace(&b, sample()))
	var got struct{ TraceEvents []chromeEvent }
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	var xs []chromeEvent
	for _, e := range got.TraceEvents {
		if e.Ph == "X" {
			xs = append(xs, e)
		}
	}
	require.Len(t, xs, 4)
	for i, a := range xs {
		for _, b := range xs[i+1:] {
			if a.Tid != b.Tid || b.Ts >= a.Ts+a.Dur {
				continue
			}
			require.LessOrEqual(t, b.Ts+b.Dur, a.Ts+a.Dur)
		}
	}
	require.Equal(t, xs[0].Tid, xs[1].Tid)
	require.NotEqual(t, xs[1].Tid, xs[3].Tid)
}

func TestSVGIsWellFormed(t *testing.T) {
	for _, records := range [][]Record{nil, sample()} {
		var b bytes.Buffer
		require.NoError(t, WriteSVG(&b, records))
		d := xml.NewDecoder(&b)
		rects := 0
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
				rects++
			}
		}
		require.Equal(t, 1+len(byStart(records)), rects)
	}
}

func TestWriteErrorIsReturned(t *testing.T) {
	require.Error(t, WriteSVG(failing{}, sample()))
	require.Error(t, WriteChromeTrace(failing{}, sample()))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestTick(t *testing.T) {
	for d := time.Microsecond; d < time.Hour; d *= 3 {
		require.LessOrEqual(t, d/tick(d), time.Duration(12))
	}
	require.False(t, strings.Contains(tick(time.Minute).String(), "."))
}
