package s3

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A setter puts one value of a storage-options map into the options.
type setter func(o *Options, value string) error

// ParseOptions reads a map of storage options: the names that s3fs has, nested ones with dots or as
// JSON, the names that pyarrow, polars and the AWS environment have for the same, and our own. An
// unknown name is an error that lists the known ones. Values are never part of an error: they can
// be secrets.
func ParseOptions(m map[string]string) (Options, error) {
	var o Options
	flat := make(map[string]string)
	for name, value := range m {
		if err := flatten(name, value, flat); err != nil {
			return Options{}, err
		}
	}
	known := setters()
	seen := make(map[string]string) // by what it sets
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		canonical := aliases[strings.ToLower(name)]
		if canonical == "" {
			canonical = strings.ToLower(name)
		}
		set, ok := known[canonical]
		if !ok {
			return Options{}, fmt.Errorf("storage option %q is not known; known are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if other, twice := seen[canonical]; twice {
			return Options{}, fmt.Errorf("storage options %q and %q set the same", other, name)
		}
		seen[canonical] = name
		if err := set(&o, flat[name]); err != nil {
			return Options{}, fmt.Errorf("storage option %q: %w", name, err)
		}
	}
	if name, ok := seen["use_ssl"]; ok { // when the endpoint is known
		if err := checkUseSSL(o, flat[name]); err != nil {
			return Options{}, fmt.Errorf("storage option %q: %w", name, err)
		}
	}
	if err := o.Validate(); err != nil {
		return Options{}, err
	}
	return o, nil
}

// aliases are other libraries' names for ours.
var aliases = map[string]string{
	"access_key": "key", "aws_access_key_id": "key", "username": "key",
	"secret_key": "secret", "aws_secret_access_key": "secret", "password": "secret",
	"session_token": "token", "aws_session_token": "token",
	"anonymous": "anon", "skip_signature": "anon", "aws_skip_signature": "anon",
	"profile_name": "profile", "aws_profile": "profile",
	"client_kwargs.endpoint_url": "endpoint_url", "endpoint_override": "endpoint_url", "endpoint": "endpoint_url", "aws_endpoint": "endpoint_url",
	"aws_endpoint_url": "endpoint_url", "aws_endpoint_url_s3": "endpoint_url",
	"client_kwargs.region_name": "region", "aws_region": "region", "region_name": "region", "aws_default_region": "region",
	"client_kwargs.verify": "verify", "aws_ca_bundle": "verify", "ca_bundle": "verify",
	"client_kwargs.use_ssl":             "use_ssl",
	"config_kwargs.s3.addressing_style": "addressing_style",
	"config_kwargs.proxies.https":       "proxy", "config_kwargs.proxies.http": "proxy",
	"config_kwargs.max_pool_connections": "max_concurrency",
	"config_kwargs.read_timeout":         "read_timeout",
	"part_size":                          "default_block_size",
}

// setters are the known names. What s3fs has for its cache and for writing has no effect.
func setters() map[string]setter {
	none := func(*Options, string) error { return nil }
	return map[string]setter{
		"key":                func(o *Options, v string) error { o.Key = v; return nil },
		"secret":             func(o *Options, v string) error { o.Secret = v; return nil },
		"token":              func(o *Options, v string) error { o.Token = v; return nil },
		"anon":               func(o *Options, v string) error { return setBool(&o.Anonymous, v) },
		"profile":            func(o *Options, v string) error { o.Profile = v; return nil },
		"endpoint_url":       func(o *Options, v string) error { o.EndpointURL = v; return nil },
		"region":             func(o *Options, v string) error { o.Region = v; return nil },
		"requester_pays":     func(o *Options, v string) error { return setBool(&o.RequesterPays, v) },
		"use_ssl":            none,
		"verify":             setVerify,
		"proxy":              func(o *Options, v string) error { o.Proxy = v; return nil },
		"addressing_style":   setAddressing,
		"path_style":         setPathStyle,
		"max_concurrency":    func(o *Options, v string) error { return setInt(&o.MaxRequests, v) },
		"default_block_size": func(o *Options, v string) error { return setInt(&o.PartSize, v) },
		"read_timeout":       func(o *Options, v string) error { return setSeconds(&o.ReadTimeout, v) },
		"default_fill_cache": none, "default_cache_type": none, "cache_regions": none, "version_aware": none, "use_listings_cache": none,
		"asynchronous": none, "skip_instance_cache": none,
	}
}

// flatten turns {"client_kwargs": "{\"region_name\": \"x\"}"} into {"client_kwargs.region_name":
// "x"}.
func flatten(name, value string, flat map[string]string) error {
	if !slices.Contains(nested, name) {
		flat[name] = value
		return nil
	}
	var inner map[string]any
	if err := json.Unmarshal([]byte(value), &inner); err != nil {
		return fmt.Errorf("storage option %q must be a JSON object", name)
	}
	for key, v := range inner {
		inside := name + "." + key
		switch v := v.(type) {
		case nil:
		case string:
			flat[inside] = v
		default:
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("storage option %q: %w", inside, err)
			}
			if err := flatten(inside, string(text), flat); err != nil {
				return err
			}
		}
	}
	return nil
}

// nested are the names whose values are objects.
var nested = []string{"client_kwargs", "config_kwargs", "config_kwargs.s3", "config_kwargs.proxies"}

func setBool(to *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "1", "yes", "on":
		*to = true
	case "false", "0", "no", "off", "", "none", "null":
		*to = false
	default:
		return fmt.Errorf("must be true or false")
	}
	return nil
}

func setInt[T int | int64](to *T, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 || int64(T(n)) != n {
		return fmt.Errorf("must be a positive number")
	}
	*to = T(n)
	return nil
}

func setSeconds(to *time.Duration, v string) error {
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || !(s > 0 && s < 1e6) {
		return fmt.Errorf("must be a positive number of seconds")
	}
	*to = time.Duration(s * float64(time.Second))
	return nil
}

// checkUseSSL compares use_ssl with the endpoint's scheme, which decides. AWS always has TLS.
func checkUseSSL(o Options, v string) error {
	var tls bool
	if err := setBool(&tls, v); err != nil {
		return err
	}
	if !tls && o.EndpointURL == "" {
		return fmt.Errorf("without TLS there must be an endpoint_url, with http://")
	}
	if o.EndpointURL != "" && tls != strings.HasPrefix(o.EndpointURL, "https://") {
		return fmt.Errorf("the scheme of endpoint_url says otherwise")
	}
	return nil
}

// setVerify takes the path of a bundle. Certificates are always checked.
func setVerify(o *Options, v string) error {
	switch strings.ToLower(v) {
	case "", "true", "none", "null":
		return nil
	case "false":
		return fmt.Errorf("certificates are always checked; give the path of a bundle that holds the server's")
	}
	o.CABundle = v
	return nil
}

func setAddressing(o *Options, v string) error {
	path := strings.EqualFold(v, "path")
	switch strings.ToLower(v) {
	case "path", "virtual":
		o.PathStyle = &path
	case "auto", "":
	default:
		return fmt.Errorf("must be path, virtual or auto")
	}
	return nil
}

func setPathStyle(o *Options, v string) error {
	var path bool
	if err := setBool(&path, v); err != nil {
		return err
	}
	o.PathStyle = &path
	return nil
}
