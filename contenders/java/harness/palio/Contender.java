package palio;

import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Who takes part, and what it can run.
 *
 * @param runtime the name and the version of what is raced, as it runs here
 * @param workloads each workload, with how it is made ready
 * @param knobs each knob, with its default
 */
public record Contender(
        String id,
        String runtime,
        String flags,
        Map<String, Prepare> workloads,
        Map<String, String> knobs) {
    private static final int PROTOCOL = 2;

    /** Makes a workload ready: reads its parameters, and starts the runtime where it is steady. */
    @FunctionalInterface
    public interface Prepare {
        Work prepare(Request request);
    }

    /** The version of the machine that runs this program. */
    public static String javaVersion() {
        return System.getProperty("java.version") + " " + System.getProperty("java.vendor.version", "");
    }

    /** The options that the machine was started with; its allocator is part of it. */
    public static String jvmFlags() {
        String collectors = ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(bean -> bean.getName().replace(' ', '-'))
                .collect(Collectors.joining(","));
        String options = ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> !option.startsWith("-Dpalio."))
                .collect(Collectors.joining(" "));
        return ("allocator=own gc=" + collectors + " " + options).strip();
    }

    void describe(PrintStream out) {
        out.println("protocol " + PROTOCOL);
        out.println("id " + id);
        out.println("runtime " + runtime.strip());
        out.println("toolchain " + System.getProperty("java.vm.name") + " " + Runtime.version());
        out.println("flags " + flags);
        workloads.keySet().stream().sorted().forEach(name -> out.println("workload " + name));
        knobs.forEach((name, value) -> out.println("knob " + name + " " + value));
    }

    Work prepare(Request request) {
        Prepare prepare = Conformance.WORKLOADS.get(request.workload());
        if (prepare == null) {
            prepare = workloads.get(request.workload());
        }
        if (prepare == null) {
            throw Refusal.unsupported(id + " does not run " + request.workload());
        }
        Work work = prepare.prepare(request);
        try {
            request.refuseWhatIsLeft();
            if (request.countForks() && !work.forksCounted()) {
                throw Refusal.unsupported(id + " does not count the forks of " + request.workload());
            }
        } catch (Refusal refusal) {
            work.close();
            throw refusal;
        }
        return work;
    }
}
