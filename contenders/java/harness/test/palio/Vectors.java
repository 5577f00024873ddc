package palio;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The sessions that every harness must pass. Knows as much TOML as their file uses: tables, texts,
 * lists of texts, numbers and `true`. Anything else fails.
 */
final class Vectors {
    private static final Pattern PAIR = Pattern.compile("(\\w+)\\s*=\\s*");
    private static final Pattern TEXT = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");
    private static final Pattern BARE = Pattern.compile("\\d+|true");

    private final String text;
    private int at;

    private Vectors(String text) {
        this.text = text;
    }

    static List<Map<String, Object>> read(Path file) throws IOException {
        List<Map<String, Object>> vectors = new ArrayList<>();
        String text = Files.readString(file).replaceAll("(?m)^#.*$", "");
        for (String table : text.split("\\[\\[vector]]")) {
            if (!table.isBlank()) {
                vectors.add(new Vectors(table.strip()).table());
            }
        }
        return vectors;
    }

    private Map<String, Object> table() {
        Map<String, Object> table = new HashMap<>();
        while (at < text.length()) {
            String key = next(PAIR).group(1);
            table.put(key, value());
            skipBlanks();
        }
        return table;
    }

    private Object value() {
        if (text.charAt(at) == '"') {
            return string();
        }
        if (text.charAt(at) != '[') {
            return next(BARE).group();
        }
        List<String> list = new ArrayList<>();
        at++;
        for (skipBlanks(); text.charAt(at) != ']'; skipBlanks()) {
            list.add(string());
            skipBlanks();
            if (text.charAt(at) == ',') {
                at++;
            }
        }
        at++;
        return list;
    }

    /** In Java, the escapes that the file uses mean the same. */
    private String string() {
        return next(TEXT).group(1).translateEscapes();
    }

    private void skipBlanks() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private Matcher next(Pattern pattern) {
        Matcher matcher = pattern.matcher(text).region(at, text.length());
        if (!matcher.lookingAt()) {
            throw new IllegalStateException("not understood: " + text.substring(at));
        }
        at = matcher.end();
        return matcher;
    }
}
