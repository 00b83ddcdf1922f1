package tune

import (
	"reflect"
	"strings"
	"testing"

	"enhance/conv"
	"enhance/internal/boundtest"
	"enhance/internal/fuse"
	"enhance/pipeline/facts"
)

var someDevice = Device{Platform: "P", Name: "a device, 12 GB", Driver: "1.2", Kernels: "0123456789abcdef"}

func someTable() *Table {
	t := New(someDevice)
	t.Choices["fp16 4^10 {K:3 SrcC:[16 4] OutC:8 Act:0}"] = facts.Choice{Algo: "fast", Default: "plain", Seconds: 0.25, Before: 0.5, GFLOPs: 123.456, Error: 1e-7, Tried: 4}
	t.Choices["fp32 4^9 {K:5}"] = facts.Choice{Algo: "plain", Default: "plain"}
	t.Notes["precision abc"] = "fp16 57.1"
	return t
}

func TestTableComesBack(t *testing.T) {
	for name, want := range map[string]*Table{"Some": someTable(), "Empty": New(someDevice), "NoDevice": New(Device{})} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(want.Format())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestCleanFields(t *testing.T) {
	odd := New(Device{Platform: "a\tb\nc", Name: "\xff\x00", Driver: strings.Repeat("ä", maxField)})
	got, err := Parse(odd.Format())
	if err != nil || got.Device.Platform != "a b c" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(someTable().Format())
	body := good[:strings.LastIndex(good[:len(good)-1], "\n")+1]
	for name, data := range map[string]string{
		"Empty":       "",
		"Cut":         good[:len(good)/2],
		"NoSum":       body,
		"OneBit":      strings.Replace(good, "plain", "plaim", 1),
		"Longer":      good + "\n",
		"OtherMagic":  summed("enhance tuninh\t1\ndevice\ta\tb\tc\td\n"),
		"NextVersion": summed("enhance tuning\t2\ndevice\ta\tb\tc\td\n"),
		"NoDevice":    summed("enhance tuning\t1\n"),
		"FewFields":   summed("enhance tuning\t1\ndevice\ta\tb\n"),
		"UnknownLine": summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nalgo\tx\n"),
		"NaN":         summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\ta\tb\tNaN\t0\t0\t0\t1\n"),
		"Inf":         summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\ta\tb\t1\t0\t+Inf\t0\t1\n"),
		"Negative":    summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\ta\tb\t-1\t0\t0\t0\t1\n"),
		"Count":       summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\ta\tb\t1\t0\t0\t0\t-1\n"),
		"Twice":       summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\ta\tb\t1\t0\t0\t0\t1\nconv\tk\ta\tb\t1\t0\t0\t0\t1\n"),
		"NoAlgo":      summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\t\tb\t1\t0\t0\t0\t1\n"),
		"Control":     summed("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\r\ta\tb\t1\t0\t0\t0\t1\n"),
		"TooLarge":    summed("enhance tuning\t1\ndevice\ta\tb\tc\td\n" + strings.Repeat("#", maxFile)),
	} {
		if got, err := Parse([]byte(data)); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

// FuzzParse: what is read is written back as it was.
func FuzzParse(f *testing.F) {
	f.Add(string(someTable().Format()), false)
	f.Add("enhance tuning\t1\ndevice\ta\tb\tc\td\nconv\tk\ta\tb\t1\t0\t0\t0\t1\nnote\tx\ty\n", true)
	f.Fuzz(func(t *testing.T, text string, sum bool) {
		if sum { // so that the lines themselves are reached
			text = summed(text)
		}
		var table *Table
		var err error
		boundtest.Run(t, len(text), 1<<20, 100, func() { table, err = Parse([]byte(text)) })
		if err != nil {
			return
		}
		again, err := Parse(table.Format())
		if err != nil {
			t.Fatalf("its own format is not read: %v", err)
		}
		if len(again.Choices) != len(table.Choices) || len(again.Notes) != len(table.Notes) {
			t.Fatalf("%+v became %+v", table, again)
		}
		for k, c := range table.Choices {
			if again.Choices[k].Algo != c.Algo {
				t.Fatalf("key %q: %+v became %+v", k, c, again.Choices[k])
			}
		}
	})
}

// TestKeyHasEveryField: a field that is added to shapes is part of keys at once,
// and none holds an address, which would change from run to run.
func TestKeyHasEveryField(t *testing.T) {
	s := conv.Shape{K: 3, SrcC: []int{16, 8}, OutC: 4, H: 100, W: 200}
	base := Key(s, "fp32")
	if Key(s, "fp16") == base {
		t.Error("precisions share a key")
	}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		old := reflect.New(f.Type()).Elem()
		old.Set(f)
		switch f.Kind() {
		case reflect.Int, reflect.Uint8:
			if f.CanInt() {
				f.SetInt(f.Int() + 1)
			} else {
				f.SetUint(f.Uint() + 1)
			}
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.Pointer {
				t.Errorf("field %s holds addresses", name)
			}
			f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
		case reflect.Pointer: // its key shows what it points to
			f.Set(reflect.New(f.Type().Elem()))
		default:
			t.Errorf("field %s is a %s: say here how it changes, and see that its print does not change from run to run", name, f.Kind())
		}
		if same := Key(s, "fp32") == base; same != (name == "H" || name == "W") {
			t.Errorf("field %s: the key stays %s: %v", name, base, same)
		}
		f.Set(old)
	}
	far := s
	far.H *= 8
	if Key(far, "fp32") == base {
		t.Error("planes of 8 times the area share a key")
	}
	if Key(conv.Shape{K: 3, SrcC: []int{16, 8}, OutC: 4, H: 100, W: 200, Act: fuse.LeakyReLU}, "fp32") == base {
		t.Error("activations share a key")
	}
}

func TestHash(t *testing.T) {
	a, b := map[string]string{"x": "1", "y": "2"}, map[string]string{"y": "2", "x": "1"}
	if Hash(a) != Hash(b) || len(Hash(a)) != 12 || Hash(a) == Hash(map[string]string{"x": "1"}) || Hash(map[string]string{"x": "2", "y": "1"}) == Hash(a) {
		t.Error("hashes do not tell decisions apart")
	}
}
