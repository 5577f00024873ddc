package work;

import palio.Refusal;
import palio.Request;
import palio.Salt;

/**
 * The column of the queen in each of the rows so far. The two halves hold eight rows each, so that
 * a board is passed by value, as the definition wants it: Java has no arrays that are values.
 */
public final class Board {
    private static final int ROWS_MAX = 16;
    private static final int BITS = 8;

    private Board() {}

    /** The rows of the board that a request asks for. */
    public static int rows(Request request) {
        int rows = (int) request.between("n", 1, 255);
        if (rows > ROWS_MAX) {
            throw Refusal.unsupported("boards have at most 16 rows, not --set n=" + rows);
        }
        return rows;
    }

    /** Whether a queen of this column stands against none in the rows above, one by one. */
    public static boolean legal(long low, long high, int row, int column) {
        for (int above = 0; above < row; above++) {
            int apart = queen(low, high, above) - column;
            if (apart == 0 || apart == row - above || apart == above - row) {
                return false;
            }
        }
        return true;
    }

    private static int queen(long low, long high, int row) {
        return (int) ((row < 8 ? low : high) >>> BITS * (row & 7)) & 0xFF;
    }

    /** The low half with a queen more. */
    public static long low(long low, int row, int column) {
        return row < 8 ? low | (long) column << BITS * row : low;
    }

    /** The high half with a queen more. */
    public static long high(long high, int row, int column) {
        return row < 8 ? high : high | (long) column << BITS * (row - 8);
    }

    /** What a solution counts: what the column of its last queen is mixed to. */
    public static long weight(long low, long high, int rows) {
        return Salt.mixed(queen(low, high, rows - 1));
    }
}
