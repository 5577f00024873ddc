using System.Runtime.InteropServices;

/// <summary>Who this is, as the runtime that runs it says.</summary>
static class Platform
{
    internal const string Id = "dotnet";
    internal const string Flags = "allocator=own optimize+ tiered-compilation";

    /// <summary>Such as `.NET 8.0.11`, whose first word is the name.</summary>
    internal static string Runtime
    {
        get { return RuntimeInformation.FrameworkDescription; }
    }

    internal static string Toolchain
    {
        get { return RuntimeInformation.FrameworkDescription + " " + RuntimeInformation.RuntimeIdentifier; }
    }
}
