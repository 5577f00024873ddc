using System.Threading.Tasks;
using Palio;

/// <summary>The row held_out/unbalanced_tree: all children but the last are tasks.</summary>
sealed class UnbalancedTree
{
    readonly int branches;
    readonly ulong chance;

    /// <summary>The weights of the nodes below a node, and their number, its own in both.</summary>
    struct Found
    {
        internal ulong Sum;
        internal ulong Nodes;
    }

    UnbalancedTree(int branches, ulong chance)
    {
        this.branches = branches;
        this.chance = chance;
    }

    internal static Work Prepare(Request request)
    {
        ulong seed = request.Between("seed", 0, ulong.MaxValue);
        int roots = (int)request.Between("roots", 0, int.MaxValue);
        int branches = (int)request.Between("branches", 0, int.MaxValue);
        ulong chance = request.Between("chance", 0, 10000);
        if ((ulong)branches * chance >= 10000)
        {
            throw Refusal.Misuse(
                "--set branches=" + branches + " and chance=" + chance + ": the tree may have no end");
        }
        var tree = new UnbalancedTree(branches, chance);
        return Work.Plain(() =>
        {
            Found all = Task.Run(() => tree.Search(seed, roots)).GetAwaiter().GetResult();
            return new Iteration(all.Sum, all.Nodes, all.Nodes);
        });
    }

    Found Search(ulong node, int children)
    {
        var all = new Found { Sum = Salt.Mixed(node), Nodes = 1 };
        if (children == 0)
        {
            return all;
        }
        var tasks = new Task<Found>[children - 1];
        for (int i = 0; i < tasks.Length; i++)
        {
            ulong child = Salt.Mix(node, (ulong)i + 1);
            tasks[i] = Task.Run(() => Search(child, Children(child)));
        }
        ulong last = Salt.Mix(node, (ulong)children);
        Add(ref all, Search(last, Children(last)));
        // Backwards, as a worker takes its newest task first.
        for (int i = tasks.Length - 1; i >= 0; i--)
        {
            Add(ref all, tasks[i].GetAwaiter().GetResult());
        }
        return all;
    }

    int Children(ulong node)
    {
        return Salt.Mix(node, 0) % 10000 < chance ? branches : 0;
    }

    static void Add(ref Found all, Found below)
    {
        all.Sum = unchecked(all.Sum + below.Sum);
        all.Nodes += below.Nodes;
    }
}
