package palio;

/**
 * What one iteration computed and did. All three are numbers of 64 bits without a sign.
 *
 * @param answer what it computed
 * @param ops how many units it did
 * @param work how many pieces of work really happened
 */
public record Iteration(long answer, long ops, long work) {
    /** An iteration in which all three are the same number. */
    public static Iteration of(long number) {
        return new Iteration(number, number, number);
    }
}
