package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// A dashboard has the fields of Grafana's JSON that are checked.
type dashboard struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		RefID      string `json:"refId"`
		Expr       string `json:"expr"`
		Legend     string `json:"legendFormat"`
		Datasource struct {
			Type string `json:"type"`
			UID  string `json:"uid"`
		} `json:"datasource"`
	} `json:"targets"`
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana-dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The panels of the dashboard are complete and do not overlap, and each variable is declared.
func TestDashboardPanels(t *testing.T) {
	d := readDashboard(t)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || len(d.Panels) < 10 {
		t.Errorf("dashboard %q %q of schema %d has %d panels", d.UID, d.Title, d.SchemaVersion, len(d.Panels))
	}
	declared := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		declared[v.Name] = true
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.Type == "" || len(p.Targets) == 0 || p.FieldConfig.Defaults.Unit == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q is incomplete, or its id is taken", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[at]; taken {
					t.Fatalf("panels %q and %q overlap", other, p.Title)
				}
				cells[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			if target.Datasource.Type != "prometheus" || target.Datasource.UID != "${datasource}" || target.Legend == "" {
				t.Errorf("panel %q: target %s has another data source, or no legend", p.Title, target.RefID)
			}
			for _, name := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !declared[name[1]] {
					t.Errorf("panel %q uses $%s, which is not declared", p.Title, name[1])
				}
			}
		}
	}
}

var (
	variable = regexp.MustCompile(`\$(\w+)`)
	row      = regexp.MustCompile("(?m)^\\| `(shardfeed_[a-z_]+)` \\| \\w+ \\|([^|]*)\\|")
	word     = regexp.MustCompile("`(\\w+)`")
	block    = regexp.MustCompile("(?s)```promql\n(.*?)```")
	found    = regexp.MustCompile(`shardfeed_[a-z_]+`)
)

// labelsOf returns the labels of each metric of docs/metrics.md, which a test of package metrics
// holds against the engine, and those of the process that the dashboard uses.
func labelsOf(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{"process_cpu_seconds_total": nil, "process_resident_memory_bytes": nil}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		known[m[1]] = []string{}
		for _, label := range word.FindAllStringSubmatch(m[2], -1) {
			known[m[1]] = append(known[m[1]], label[1])
		}
	}
	return known
}

// checkQuery reports whether a query parses, and names metrics and labels that exist.
func checkQuery(t *testing.T, where, query string, known map[string][]string) {
	t.Helper()
	query = strings.ReplaceAll(query, "$__rate_interval", "5m")
	e, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %s: %v", where, query, err)
		return
	}
	labels := map[string]bool{"job": true, "instance": true, "__name__": true}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			of, exists := known[v.Name]
			if !exists {
				t.Errorf("%s: there is no metric %s", where, v.Name)
			}
			own := map[string]bool{"job": true, "instance": true, "__name__": true}
			for _, l := range of {
				labels[l], own[l] = true, true
			}
			for _, m := range v.LabelMatchers {
				if !own[m.Name] {
					t.Errorf("%s: %s has no label %s", where, v.Name, m.Name)
				}
			}
		}
		return nil
	})
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !labels[l] {
					t.Errorf("%s: no metric of %s has the label %s", where, query, l)
				}
			}
		}
		return nil
	})
}

// Queries of the dashboard and of the pages parse and name metrics that exist. The dashboard shows
// each metric.
func TestQueries(t *testing.T) {
	known, shown := labelsOf(t), map[string]bool{}
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			checkQuery(t, p.Title, target.Expr, known)
			for _, name := range found.FindAllString(target.Expr, -1) {
				shown[name] = true
			}
		}
	}
	for _, v := range d.Templating.List {
		for _, name := range found.FindAllString(v.Definition, -1) {
			if _, exists := known[name]; !exists {
				t.Errorf("variable %s: there is no metric %s", v.Name, name)
			}
			shown[name] = true
		}
	}
	for _, name := range []string{
		"shardfeed_rows_total", "shardfeed_wait_seconds_total", "shardfeed_memory_used_bytes", "shardfeed_cache_reads_total", "shardfeed_store_requests_total", "shardfeed_store_throttles_total",
	} {
		if !shown[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, error %v", len(pages), err)
	}
	queries := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(b[1]) {
				checkQuery(t, page, strings.TrimSpace(line), known)
				queries++
			}
		}
	}
	if queries == 0 {
		t.Error("no page has a query")
	}
}

// The check sees queries that are wrong.
func TestWrongQueries(t *testing.T) {
	known := map[string][]string{"shardfeed_rows_total": {"rank"}}
	for _, query := range []string{
		"rate(shardfeed_rows_total[5m]", "shardfeed_row_total", `shardfeed_rows_total{cause="x"}`, "sum by (cause) (shardfeed_rows_total)",
	} {
		inner := &testing.T{}
		checkQuery(inner, "x", query, known)
		if !inner.Failed() {
			t.Errorf("%s passes", query)
		}
	}
}
