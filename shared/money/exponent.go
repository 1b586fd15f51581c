package money

// Exponent is how many decimals of its major unit a currency's minor unit is:
// 2 for the cents of a dollar, 0 for the yen. ISO 4217 lists few exceptions
// from 2, and a currency that is not known here is taken for an ordinary one.
func Exponent(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return 2
}
