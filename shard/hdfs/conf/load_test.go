package conf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// write makes the files of a configuration. DIR in them is the directory, which it returns.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// site wraps properties into a file.
func site(properties string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<!-- a comment -->
<configuration xmlns:xi="http://www.w3.org/2001/XInclude">` + properties + `</configuration>`
}

// is writes a property.
func is(name, value string) string {
	return "<property>\n <name>" + name + "</name>\n <value>" + value + "</value>\n</property>\n"
}

func TestLoad(t *testing.T) {
	t.Setenv("CONF_TEST", "from the environment")
	t.Setenv("CONF_EMPTY", "")
	t.Setenv("USER", "alice")
	dir := write(t, map[string]string{
		"core-site.xml": site(
			is("trimmed", "\n  hdfs://a  \n") + is(" name\n", "x") + is("later", "core") + is("twice", "1") + is("twice", "2") +
				`<property><name>final</name><value>first</value><final>true</final></property>` +
				`<property name="attribute" value="in it" final="false"/>` +
				`<property><name>described</name><description>of <b>it</b></description><value>a<!-- not this -->b</value></property>` +
				`<property><name>no value</name></property>` +
				is("escaped", "a&amp;b &lt;c&gt; &#65;") + is("fs.default.name", "hdfs://old:8020/") +
				`<configuration>` + is("nested", "yes") + `</configuration>` +
				is("ref", "${base}/${ref.other}/x") + is("base", "/b") + is("ref.other", "${base}-2") +
				is("env", "${env.CONF_TEST}") + is("env.word", "${env.CONF_NONE-word}${env.CONF_EMPTY-word}${env.CONF_EMPTY:-other}") +
				is("unknown", "${no.such}") + is("odd", "${ not a name} $ ${ ${base") + is("user", "${user.name}"),
		),
		"hdfs-site.xml": site(is("later", "hdfs") + is("final", "second") +
			`<xi:include href="more/inc.xml"/>` +
			`<xi:include href="none.xml"><xi:fallback>` + is("fallback", "used") + `</xi:fallback></xi:include>` +
			`<xi:include href="DIR/more/inc2.xml"><xi:fallback>` + is("fallback2", "not used") + `</xi:fallback></xi:include>`),
		"more/inc.xml":  site(is("included", "yes") + `<xi:include href="deep.xml"/>`),
		"more/deep.xml": site(is("deep", "${included}")),
		"more/inc2.xml": `<configuration>` + is("plain", "yes") + `</configuration>`,
	})
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"trimmed": "hdfs://a", "name": "x", "later": "hdfs", "twice": "2", "final": "first", "attribute": "in it", "described": "ab",
		"no value": "", "escaped": "a&b <c> A", "fs.defaultFS": "hdfs://old:8020/", "fs.default.name": "hdfs://old:8020/", "nested": "yes",
		"ref": "/b//b-2/x", "env": "from the environment", "env.word": "wordother", "unknown": "${no.such}",
		"odd": "${ not a name} $ ${ ${base", "user": "alice", "included": "yes", "deep": "yes", "fallback": "used", "fallback2": "",
		"plain": "yes", "absent": "",
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		})
	}
	if c.Dir() != dir || c.DefaultFS() != "hdfs://old:8020" {
		t.Errorf("directory %s, file system %s", c.Dir(), c.DefaultFS())
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ name, core, want string }{
		{"loop", site(is("a", "${b}") + is("b", "x${c}") + is("c", "${a}")), "a refers to itself: a -> b -> c -> a"},
		{"loop of one", site(is("a", "${a}")), "a refers to itself: a -> a"},
		{"no end", "<configuration><property>", "core-site.xml:1"},
		{"other root", "<project/>", "it holds <project>, not <configuration>"},
		{"empty", "", "holds no <configuration>"},
		{"missing include", site(`<xi:include href="none.xml"/>`), "the included file cannot be read"},
		{"remote include", site(`<xi:include href="http://u:secret@x/y.xml"/>`), "only files are included"},
		{"include of nothing", site(`<xi:include/>`), "an include without a file"},
		{"includes itself", site(`<xi:include href="core-site.xml"/>`), "includes itself"},
		{"circle", site(`<xi:include href="one.xml"/>`), "includes itself"},
		{"encoding", `<?xml version="1.0" encoding="EBCDIC"?><configuration/>`, "EBCDIC"},
		{"nested too deep", strings.Repeat("<configuration>", 20_000), "exceeded max depth"},
		{"billion laughs", site(laughs()), "over"},
		{"hole in an include", site(`<xi:include href="hole.xml"><xi:fallback/></xi:include>`), "none.xml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, map[string]string{
				"core-site.xml": c.core,
				"one.xml":       site(`<xi:include href="two.xml"/>`),
				"two.xml":       site(`<xi:include href="one.xml"/>`),
				"hole.xml":      site(`<xi:include href="none.xml"/>`),
			})
			_, err := Load(dir)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "neither core-site.xml nor hdfs-site.xml") {
		t.Errorf("error %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrConfig) {
		t.Errorf("error %v", err)
	}
}

// laughs are values that refer to ten of the next.
func laughs() string {
	var b strings.Builder
	for i := range 15 {
		name := string(rune('a' + i))
		b.WriteString(is(name, strings.Repeat("${"+string(rune('b'+i))+"}", 10)))
	}
	b.WriteString(is("p", ""))
	return b.String()
}

func TestLatin1(t *testing.T) {
	dir := write(t, map[string]string{"core-site.xml": "<?xml version='1.0' encoding='ISO-8859-1'?><configuration><property name='a' value='\xe9'/></configuration>"})
	c, err := Load(dir)
	if err != nil || c.Get("a") != "é" {
		t.Errorf("%q, %v", c.Get("a"), err)
	}
}

func TestFind(t *testing.T) {
	dir := write(t, map[string]string{"h1/etc/hadoop/core-site.xml": "", "h2/conf/hdfs-site.xml": "", "h3/x": ""})
	for _, c := range []struct{ conf, home, want string }{
		{"", "", ""},
		{"/nowhere", dir + "/h1", "/nowhere"},
		{"", dir + "/h1", dir + "/h1/etc/hadoop"},
		{"", dir + "/h2", dir + "/h2/conf"},
		{"", dir + "/h3", ""},
	} {
		t.Run(c.conf, func(t *testing.T) {
			env := map[string]string{"HADOOP_CONF_DIR": c.conf, "HADOOP_HOME": c.home}
			if got := Find(func(name string) string { return env[name] }); got != c.want {
				t.Errorf("%+v: got %q", c, got)
			}
		})
	}
}

func TestValues(t *testing.T) {
	c := New(map[string]string{"yes": " TRUE ", "no": "false", "odd": "maybe", "n": "42", "word": "x", "dfs.federation.nameservices": "a"})
	if !c.Bool("yes", false) || c.Bool("no", true) || !c.Bool("odd", true) || c.Bool("none", false) {
		t.Error("truths")
	}
	if c.Get("n") != "42" || c.Get("none") != "" {
		t.Error("numbers")
	}
	over := c.With(map[string]string{"n": "1", "fs.default.name": "hdfs://x"})
	if over.Get("n") != "1" || c.Get("n") != "42" || over.Get("yes") != "TRUE" || over.DefaultFS() != "hdfs://x" {
		t.Error("With changes its receiver, or not its result")
	}
	if new(Conf).Get("a") != "" || new(Conf).With(nil).Get("a") != "" {
		t.Error("nothing says something")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(site(is("a", "${b}") + `<xi:include href="x"><xi:fallback/></xi:include>`)))
	f.Add([]byte(`<configuration><property name="a" value="${env.X:-y}" final="true"/></configuration>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Conf{values: make(map[string]string), finals: make(map[string]bool)}
		p := parser{add: c.add, include: func(string) error { return os.ErrNotExist }}
		if p.document(newDecoder(text)) != nil || c.check() != nil {
			return
		}
		for name := range c.values {
			c.Get(name)
		}
		_, _ = c.Nameservice("x")
		_, _ = c.Resolve("viewfs://x/y")
	})
}
