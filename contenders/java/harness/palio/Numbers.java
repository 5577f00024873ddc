package palio;

/** Whole numbers of 64 bits without a sign, in decimal digits alone, as the contract has them. */
final class Numbers {
    private Numbers() {}

    /** Unlike `Long.parseUnsignedLong`, refuses a plus sign and the digits of other scripts. */
    static long parse(String text) {
        if (text.isEmpty() || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new NumberFormatException("no decimal digits alone");
        }
        return Long.parseUnsignedLong(text);
    }

    /** A number of at least 1 that an `int` can hold. */
    static int parseCount(String text) {
        long number = parse(text);
        if (number < 1 || number > Integer.MAX_VALUE) {
            throw new NumberFormatException("not from 1 to " + Integer.MAX_VALUE);
        }
        return (int) number;
    }
}
