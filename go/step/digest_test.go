package step

import (
	"encoding/hex"
	"reflect"
	"testing"
)

func TestBLAKE2bIsThatOfTheRFC(t *testing.T) {
	const want = "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1" + // RFC 7693, appendix A
		"7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
	if found := hex.EncodeToString(blake2b([]byte("abc"), 64)); found != want {
		t.Errorf("%s is not %s", found, want)
	}
}

func TestBLAKE2bOfWholeBlocksAndOfPartsOfThem(t *testing.T) {
	for length, want := range map[int]string{ // by Python's hashlib
		0:   "e4a6a0577479b2b4",
		127: "68005651c301c41e",
		128: "c2d13df1b6617e82",
		129: "f667e47a6d5350a6",
		256: "511a778d539d7a3c",
		300: "572983d150ac98cb",
	} {
		data := make([]byte, length)
		for i := range data {
			data[i] = byte(i % 251)
		}
		if found := hex.EncodeToString(blake2b(data, 8)); found != want {
			t.Errorf("%d bytes: %s is not %s", length, found, want)
		}
	}
}

type (
	place struct {
		View   int
		Digest Digest
	}
	Ballot struct { // embeds two: they are its own fields on the wire
		place
		Name  string
		Yes   bool
		Maybe *int
		Any   Value
		To    NodeID `wire:"nullable"`
		Pairs []pair
		Signed
	}
)

func TestCanonicalBytesAreThoseOfPython(t *testing.T) {
	types := newTypes([]Value{Ballot{}})
	one := 1
	ballot := Ballot{place{2, "\x01\xff"}, "é", true, &one, false, "", []pair{{"n1", -1}}, Signed{"n2", true}}
	want := "v\x06\x00\x00\x00Ballot" + "\x02\x00\x00\x00\x00\x00\x00\x00" + // the numbers: View, Yes, Valid
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" +
		"b\x02\x00\x00\x00\x01\xff" + "s\x02\x00\x00\x00\xc3\xa9" + "i\x01\x00\x00\x00\x00\x00\x00\x00" + "F" + "N" +
		"(\x01\x00\x00\x00(\x02\x00\x00\x00s\x02\x00\x00\x00n1i\xff\xff\xff\xff\xff\xff\xff\xff" + "s\x02\x00\x00\x00n2"
	if found := string(types.canonical(nil, reflect.ValueOf(ballot))); found != want {
		t.Errorf("%q is not %q", found, want)
	}
	if found := string(types.canonical(nil, reflect.ValueOf(nil))); found != "N" {
		t.Errorf("%q is not null", found)
	}
}

func TestWhatAMessageEmbedsTravelsAsItsOwn(t *testing.T) {
	types := newTypes([]Value{Ballot{}})
	ballot := Ballot{place: place{2, "\x01\xff"}, Signed: Signed{"n2", true}}
	const want = `["Ballot",2,["bytes","01ff"],"",false,null,null,null,[""],"n2",true]`
	if found := string(types.appendAny(nil, ballot)); found != want {
		t.Errorf("%s is not %s", found, want)
	}
	read := types.any(&reader{data: []byte(want), known: map[string]string{}})
	if back := read.(Ballot); back.View != 2 || back.Digest != "\x01\xff" || back.Signed != ballot.Signed {
		t.Errorf("%v has come back as %v", ballot, back)
	}
}

func TestSignaturesAreVerifiedAndTheirSignersCountOnce(t *testing.T) {
	genuine, forged := Ballot{Signed: Signed{"n1", true}}, Ballot{Signed: Signed{"n2", false}}
	if !Verify[Ballot]() || !Verify(genuine, genuine) || Verify(genuine, forged) {
		t.Error("of genuine and forged ballots just those verify that are genuine")
	}
	if found := Signers([]Ballot{genuine, forged, genuine}); len(found) != 2 {
		t.Errorf("two have signed, and not %v", found)
	}
}
