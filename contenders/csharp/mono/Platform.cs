using System;
using System.Reflection;

/// <summary>Who this is, as the runtime that runs it says.</summary>
static class Platform
{
    internal const string Id = "mono";
    internal const string Flags = "allocator=own optimize+";

    internal static string Runtime
    {
        get { return "mono " + Version(); }
    }

    internal static string Toolchain
    {
        get { return "mcs, run by mono " + Version(); }
    }

    /// <summary>
    /// A method that the runtime keeps for those who ask, such as `6.8.0.105 (Debian …)`.
    /// </summary>
    static string Version()
    {
        Type runtime = Type.GetType("Mono.Runtime");
        MethodInfo name = runtime == null
            ? null
            : runtime.GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
        return name == null ? "unknown" : (string)name.Invoke(null, null);
    }
}
