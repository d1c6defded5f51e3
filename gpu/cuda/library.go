package cuda

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// checkLibrary detects a truncated library, as after an interrupted copy. The system's loader
// detects all other faults of a file, but maps a truncated one and crashes with the process. A name
// without a folder is only looked up in LD_LIBRARY_PATH; the loader's other places have installed
// libraries.
func checkLibrary(library string) error {
	paths := []string{library}
	if filepath.Base(library) == library {
		paths = nil
		for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
			paths = append(paths, filepath.Join(dir, library))
		}
	}
	for _, path := range paths {
		if err := checkFile(path); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the loader says it, if it matters
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if needs := mappedSize(f); needs > uint64(info.Size()) {
		return fmt.Errorf("%s: the file is cut: %d bytes of %d", path, info.Size(), needs)
	}
	return nil
}

// mappedSize returns the length that an ELF file needs for its segments to be mapped, or 0 if r
// does not start as a 64-bit ELF file.
func mappedSize(r io.ReaderAt) uint64 {
	var header elf.Header64
	size := int64(binary.Size(header))
	if binary.Read(io.NewSectionReader(r, 0, size), binary.LittleEndian, &header) != nil || string(header.Ident[:4]) != elf.ELFMAG {
		return 0
	}
	var segment elf.Prog64
	if elf.Class(header.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || int(header.Phentsize) != binary.Size(segment) {
		return 0
	}
	var needs uint64
	segments := io.NewSectionReader(r, int64(header.Phoff), int64(header.Phnum)*int64(header.Phentsize))
	for range header.Phnum {
		if binary.Read(segments, binary.LittleEndian, &segment) != nil {
			return 0
		}
		if elf.ProgType(segment.Type) == elf.PT_LOAD {
			needs = max(needs, segment.Off+segment.Filesz)
		}
	}
	return needs
}
