package palio;

/**
 * The salt of this process, which enters the work as the definitions say.
 *
 * <p>A global, because an argument more in every task would be a cost that the work does not have.
 * Not final: a compiler that runs beside the program would take it for a constant of the work.
 */
public final class Salt {
    public static long salt;

    private Salt() {}

    /** One output of splitmix64, from the state `salt + index`. */
    public static long mix(long salt, long index) {
        long x = salt + index + 0x9E3779B97F4A7C15L;
        x = (x ^ x >>> 30) * 0xBF58476D1CE4E5B9L;
        x = (x ^ x >>> 27) * 0x94D049BB133111EBL;
        return x ^ x >>> 31;
    }

    /** `mix` of the process's salt. */
    public static long mixed(long index) {
        return mix(salt, index);
    }
}
