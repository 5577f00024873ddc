package palio;

/** Why something cannot be run as asked. It has the exit status that the contract gives to it. */
public final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The exit status for arguments or a command that cannot be understood. */
    static final int MISUSE = 2;

    /** The exit status for what makes sense, but is not supported. */
    static final int UNSUPPORTED = 3;

    final int status;

    private Refusal(int status, String reason) {
        super(reason);
        this.status = status;
    }

    /** Refuses what makes no sense. */
    public static Refusal misuse(String reason) {
        return new Refusal(MISUSE, reason);
    }

    /** Refuses what makes sense, but is not done by this contender. */
    public static Refusal unsupported(String reason) {
        return new Refusal(UNSUPPORTED, reason);
    }
}
