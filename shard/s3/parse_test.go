package s3

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name string
		in   map[string]string
		want Options
	}{
		{"nothing", nil, Options{}},
		{"s3fs", map[string]string{
			"key": "K", "secret": "S", "token": "T", "endpoint_url": "http://h:1", "requester_pays": "True", "max_concurrency": "7",
			"default_block_size": "8388608", "default_fill_cache": "False", "use_ssl": "false",
			"config_kwargs": `{"s3": {"addressing_style": "virtual"}, "read_timeout": 1.5}`, "client_kwargs": `{"region_name": "eu-x-1"}`,
		}, Options{
			Key: "K", Secret: "S", Token: "T", EndpointURL: "http://h:1", RequesterPays: true, MaxRequests: 7, PartSize: 8 << 20,
			PathStyle: &no, ReadTimeout: 1500 * time.Millisecond, Region: "eu-x-1",
		}},
		{
			"dots",
			map[string]string{"client_kwargs.endpoint_url": "https://h", "client_kwargs.region_name": "r", "config_kwargs.s3.addressing_style": "path"},
			Options{EndpointURL: "https://h", Region: "r", PathStyle: &yes},
		},
		{
			"pyarrow",
			map[string]string{"access_key": "K", "secret_key": "S", "session_token": "T", "endpoint_override": "http://h", "region": "r"},
			Options{Key: "K", Secret: "S", Token: "T", EndpointURL: "http://h", Region: "r"},
		},
		{"polars", map[string]string{"aws_access_key_id": "K", "AWS_SECRET_ACCESS_KEY": "S", "aws_region": "r"}, Options{Key: "K", Secret: "S", Region: "r"}},
		{"anonymous", map[string]string{"anon": "1"}, Options{Anonymous: true}},
		{
			"others",
			map[string]string{"profile": "p", "verify": "/ca.pem", "proxy": "http://p:3128", "path_style": "true", "anon": "false"},
			Options{Profile: "p", CABundle: "/ca.pem", Proxy: "http://p:3128", PathStyle: &yes},
		},
		{"as they are", map[string]string{"use_ssl": "true", "verify": "true", "addressing_style": "auto", "client_kwargs": `{"region_name": null}`}, Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseOptions(c.in)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestParseOptionsErrors(t *testing.T) {
	for _, c := range []struct {
		in   map[string]string
		want string
	}{
		{map[string]string{"kee": "hush"}, `"kee" is not known; known are addressing_style, anon, `},
		{map[string]string{"client_kwargs": `{"kee": "hush"}`}, `"client_kwargs.kee" is not known`},
		{map[string]string{"client_kwargs": `hush`}, "must be a JSON object"},
		{map[string]string{"key": "hush", "aws_access_key_id": "hush"}, "set the same"},
		{map[string]string{"key": "hush"}, "key and secret come together"},
		{map[string]string{"key": "hush", "secret": "hush", "anon": "true"}, "anonymous requests take no credentials"},
		{map[string]string{"anon": "true", "requester_pays": "true"}, "cannot be charged"},
		{map[string]string{"anon": "perhaps"}, "must be true or false"},
		{map[string]string{"max_concurrency": "0"}, "must be a positive number"},
		{map[string]string{"max_concurrency": "1e3"}, "must be a positive number"},
		{map[string]string{"max_concurrency": "9999"}, "requests in flight: must be 1 to 4096, got 9999"},
		{map[string]string{"default_block_size": "10"}, "part size: must be 65536 to 1073741824 bytes, got 10"},
		{map[string]string{"read_timeout": "-1"}, "must be a positive number of seconds"},
		{map[string]string{"read_timeout": "NaN"}, "must be a positive number of seconds"},
		{map[string]string{"use_ssl": "false"}, "there must be an endpoint_url"},
		{map[string]string{"use_ssl": "true", "client_kwargs.endpoint_url": "http://h"}, "says otherwise"},
		{map[string]string{"verify": "false"}, "certificates are always checked"},
		{map[string]string{"addressing_style": "odd"}, "must be path, virtual or auto"},
		{map[string]string{"path_style": "odd"}, "must be true or false"},
		{map[string]string{"endpoint_url": "h:9000"}, "must be an address such as https://host:9000, got"},
		{map[string]string{"proxy": "http://u:hush@h:port"}, "must be an address such as http://host:3128, got"},
	} {
		t.Run(fmt.Sprintf("%+v", c.in), func(t *testing.T) {
			_, err := ParseOptions(c.in)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v", c.in, err)
			} else if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v: %q says too much", c.in, err)
			}
		})
	}
}

func TestValidateListsAll(t *testing.T) {
	err := Options{Key: "k", Token: "t", MaxRequests: -1, PartSize: -1, ReadTimeout: -1, HedgeAfter: -1, RetryFor: -1}.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("%v", err)
	}
	if err := (Options{}).withDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzParseOptions(f *testing.F) {
	f.Add("client_kwargs", `{"region_name": "x", "verify": false}`, "config_kwargs", `{"s3": {"addressing_style": 1}}`)
	f.Add("use_ssl", "false", "endpoint", "http://h")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		o, err := ParseOptions(map[string]string{name1: value1, name2: value2})
		if err == nil && o.Validate() != nil {
			t.Fatal("options that are not valid")
		}
	})
}
