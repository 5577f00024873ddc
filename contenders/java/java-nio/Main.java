import java.util.Map;
import palio.Contender;
import palio.Harness;

/** The contender java-nio: selectors by hand, without a runtime. README.md tells the decisions. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        Harness.run(
                new Contender(
                        "java-nio",
                        "java.nio " + Contender.javaVersion(),
                        Contender.jvmFlags(),
                        Map.of("tcp_ping_pong", TcpPingPong::prepare),
                        Map.of()),
                args);
    }
}
