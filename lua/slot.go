package lua

// Slot is the cluster slot, 0 to 16,383, of all keys of a cabinet: CRC-16/XMODEM
// of the hash tag modulo 16,384, after Redis' cluster specification.
func Slot(cabinet string) int {
	crc := uint16(0)
	for i := range len(cabinet) {
		crc ^= uint16(cabinet[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc & 0x3fff)
}
