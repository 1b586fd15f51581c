package wire

// ValidCabinet reports whether s may name a cabinet: [A-Za-z0-9_-]{1,32}. The
// rule keeps MQTT wildcards and topic levels ('+', '#', '/') out of identities.
func ValidCabinet(s string) bool {
	return len(s) >= 1 && len(s) <= 32 && every(s, func(c byte) bool { return alnum(c) || c == '_' || c == '-' })
}

// ValidSKU reports whether s may name a product: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
// The first character keeps reserved Redis fields ('#…') out of reach.
func ValidSKU(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && alnum(s[0]) && every(s, func(c byte) bool { return alnum(c) || c == '.' || c == '_' || c == '-' })
}

// ValidSlot reports whether s may name a slot: 1 to 32 of [A-Za-z0-9._-].
func ValidSlot(s string) bool { return len(s) <= MaxSlot && ValidSKU(s) }

// ValidUser reports whether s may name a shopper: 1 to 64 of [A-Za-z0-9._@:-].
func ValidUser(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && every(s, func(c byte) bool {
		return alnum(c) || c == '.' || c == '_' || c == '@' || c == ':' || c == '-'
	})
}

// ValidID reports whether s is a lower-case UUID in its canonical 36 characters.
func ValidID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func every(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
