using System;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;
using Palio;

/// <summary>The row spawn_one: what is timed is who spawns, and not what is spawned.</summary>
sealed class SpawnOne
{
    readonly int tasks;
    readonly bool outside;
    readonly SemaphoreSlim ended = new SemaphoreSlim(0);
    long sum;
    long count;

    SpawnOne(int tasks, bool outside)
    {
        this.tasks = tasks;
        this.outside = outside;
    }

    internal static Work Prepare(Request request)
    {
        int tasks = request.Count("tasks");
        var row = new SpawnOne(tasks, request.OneOf("from", "worker", "outside") == "outside");
        return Work.Staged(row.Clear, row.Run, row.Finish);
    }

    void Clear()
    {
        sum = 0;
        count = 0;
    }

    void Run()
    {
        if (outside)
        {
            Spawn();
        }
        else
        {
            Task.Run((Action)Spawn).GetAwaiter().GetResult();
        }
    }

    void Spawn()
    {
        for (int i = 0; i < tasks; i++)
        {
            Task.Run((Action)One);
        }
    }

    void One()
    {
        Interlocked.Add(ref sum, unchecked((long)(Salt.Value + 1)));
        if (Interlocked.Increment(ref count) == tasks)
        {
            ended.Release();
        }
    }

    Iteration Finish()
    {
        ended.Wait();
        return new Iteration(unchecked((ulong)sum), (ulong)count, (ulong)count);
    }
}

/// <summary>The row tcp_ping_pong: a task for each side of a connection.</summary>
static class TcpPingPong
{
    /// <summary>How many files a process may have open beside its connections.</summary>
    const ulong FilesBeside = 64;

    /// <summary>What one side of a connection has read.</summary>
    struct Received
    {
        internal ulong Sum;
        internal ulong Bytes;
        internal ulong RoundTrips;

        internal void Add(byte one)
        {
            Sum += one;
            Bytes++;
        }
    }

    internal static Work Prepare(Request request)
    {
        int connections = request.Count("connections");
        int roundTrips = (int)request.Between("round_trips", 0, int.MaxValue);
        Descriptors.Allow(2 * (ulong)connections + FilesBeside);
        return Pool.Rooted(() => Run(connections, roundTrips));
    }

    static async Task<Iteration> Run(int connections, int roundTrips)
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start(connections);
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        var sides = new Task<Received>[2 * connections];
        for (int i = 0; i < connections; i++)
        {
            byte key = unchecked((byte)(Salt.Mixed((ulong)i) | 1));
            sides[i] = Task.Run(() => OrCrash(Answer(port, roundTrips, key)));
        }
        for (int i = 0; i < connections; i++)
        {
            TcpClient accepted = await listener.AcceptTcpClientAsync().ConfigureAwait(false);
            sides[connections + i] = Task.Run(() => OrCrash(Begin(accepted, roundTrips)));
        }
        var all = new Received();
        foreach (Task<Received> side in sides)
        {
            Received received = await side.ConfigureAwait(false);
            all.Sum += received.Sum;
            all.Bytes += received.Bytes;
            all.RoundTrips += received.RoundTrips;
        }
        listener.Stop();
        return new Iteration(all.Sum, all.RoundTrips, all.Bytes);
    }

    /// <summary>
    /// An error of a socket ends the process: nobody waits for a peer that is gone.
    /// </summary>
    static async Task<Received> OrCrash(Task<Received> side)
    {
        try
        {
            return await side.ConfigureAwait(false);
        }
        catch (Exception error)
        {
            Harness.Crash(error);
            throw;
        }
    }

    /// <summary>The accepting side writes what it read last, and 0 at first.</summary>
    static async Task<Received> Begin(TcpClient connection, int roundTrips)
    {
        var received = new Received();
        using (connection)
        {
            NetworkStream stream = connection.GetStream();
            var one = new byte[1];
            for (int i = 0; i < roundTrips; i++)
            {
                await stream.WriteAsync(one, 0, 1).ConfigureAwait(false);
                await Read(stream, one).ConfigureAwait(false);
                received.Add(one[0]);
                received.RoundTrips++;
            }
        }
        return received;
    }

    /// <summary>The connecting side writes what it read plus its key.</summary>
    static async Task<Received> Answer(int port, int roundTrips, byte key)
    {
        var received = new Received();
        using (var connection = new TcpClient(AddressFamily.InterNetwork))
        {
            await connection.ConnectAsync(IPAddress.Loopback, port).ConfigureAwait(false);
            NetworkStream stream = connection.GetStream();
            var one = new byte[1];
            for (int i = 0; i < roundTrips; i++)
            {
                await Read(stream, one).ConfigureAwait(false);
                received.Add(one[0]);
                one[0] = unchecked((byte)(one[0] + key));
                await stream.WriteAsync(one, 0, 1).ConfigureAwait(false);
            }
        }
        return received;
    }

    static async Task Read(NetworkStream stream, byte[] one)
    {
        if (await stream.ReadAsync(one, 0, 1).ConfigureAwait(false) == 0)
        {
            throw new EndOfStreamException("the peer is gone");
        }
    }
}
