/** Moves VMs from busy hosts in small rounds of the system, which break no policy. Source: behaviour vmm.md 3.2 (balancer). */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { startingTasks } from '../../../../core/time/schedules.ts'
import type { Schedule, ScheduleContext } from '../../../context.ts'
import { HostAllocation } from '../../../scheduling/host-allocation.ts'
import { Choices, type HostCandidate, loadsOf, usableMemoryBytes } from '../../../scheduling/placement.ts'
import { peerFinder } from '../../../scheduling/policy-selection.ts'
import { candidatesOf, demandOf } from '../../../scheduling/scheduler.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { migrationOf } from '../../policies/enforcement.ts'
import { isNative } from '../create/clusters.ts'
import { moveToHost } from '../evacuation.ts'
import { cpuLoadOf, shareOfVcpu } from './cpu-load.ts'

type Allocation = EntityOf<typeof HostAllocation>

interface Move {
  readonly vm: VmEntity
  readonly hostExtId: string
}

/** Share of the CPUs of a host that may be in use. */
const mostCpu = 0.85
/** Difference between the fullest and the emptiest host, as a share of the memory for VMs. */
const mostSpread = 0.15
const movesInRound = 2
/** The largest VMs of a host are tried. */
const vmsTried = 64

export const balanceHosts: Schedule = {
  name: 'vmm.balance-hosts',
  everySeconds: 15 * 60,
  onlyLastCounts: true,
  async run(ctx) {
    for (const cluster of (await ctx.store.find(Cluster)).filter(isNative)) {
      if (!ctx.drivers.hardware.isReachable(cluster.extId)) continue
      for (const { vm, hostExtId } of await movesIn(ctx, cluster.extId))
        await startingTasks(ctx, async (_, startTask) => {
          await startTask(moveToHost, { vmExtId: vm.extId, hostExtId }, { ...migrationOf(vm), background: true })
        })
    }
  },
}

async function movesIn(ctx: ScheduleContext, clusterExtId: string): Promise<Move[]> {
  const hosts = (await candidatesOf(ctx, clusterExtId)).filter(({ closed }) => closed === undefined)
  const held = await ctx.store.findWhere(HostAllocation, { clusterExtId })
  const moves: Move[] = []
  // Moves that are under way count in the next round, when they are over.
  const isMoving = new Set(held.map(({ vmExtId }) => vmExtId)).size < held.length
  if (hosts.length < 2 || isMoving) return moves
  while (moves.length < movesInRound) {
    const move = (await awayFromBusyCpus(ctx, hosts, held)) ?? (await towardsEvenMemory(ctx, hosts, held))
    if (move === undefined) break
    moves.push(move)
    const index = held.findIndex(({ vmExtId }) => vmExtId === move.vm.extId)
    held[index] = { ...(held[index] as Allocation), hostExtId: move.hostExtId }
  }
  return moves
}

async function awayFromBusyCpus(
  ctx: ScheduleContext,
  hosts: readonly HostCandidate[],
  held: readonly Allocation[],
): Promise<Move | undefined> {
  const rows = new Map(
    (
      await ctx.store.getMany(
        Host,
        hosts.map(({ extId }) => extId),
      )
    ).map((row) => [row.extId, row]),
  )
  for (const host of hosts) {
    const row = rows.get(host.extId)
    const own = held.filter(({ hostExtId }) => hostExtId === host.extId)
    const vcpus = own.reduce((sum, each) => sum + each.vcpus, 0)
    // Its VMs could not use so much, whatever they do.
    if (row === undefined || vcpus * shareOfVcpu(row) < mostCpu / 2) continue
    const vms = await ctx.store.getMany(
      Vm,
      own.map(({ vmExtId }) => vmExtId),
    )
    const { least, ofVms } = await cpuLoadOf(
      ctx,
      row,
      vms.filter((vm) => vm.host?.extId === host.extId),
    )
    if (least <= mostCpu) continue
    const relief = (vm: VmEntity): number => ofVms.get(vm.extId) ?? 0
    return bestMove(ctx, hosts, held, host, (vm, target) => {
      const targetVcpus = held
        .filter(({ hostExtId }) => hostExtId === target)
        .reduce((sum, each) => sum + each.vcpus, 0)
      // Only to a host that has fewer vCPUs to serve.
      return targetVcpus < vcpus ? relief(vm) : 0
    })
  }
  return undefined
}

/** The move after which the memory of the hosts is filled most evenly. */
async function towardsEvenMemory(
  ctx: ScheduleContext,
  hosts: readonly HostCandidate[],
  held: readonly Allocation[],
): Promise<Move | undefined> {
  const loads = loadsOf(held)
  const fillOf = (host: HostCandidate, more = 0): number =>
    ((loads.get(host.extId)?.memoryBytes ?? 0) + more) / usableMemoryBytes(host)
  const fills = hosts.map((host) => fillOf(host))
  const spread = Math.max(...fills) - Math.min(...fills)
  const fullest = hosts[fills.indexOf(Math.max(...fills))] as HostCandidate
  if (!(spread > mostSpread)) return undefined
  const bytesOf = new Map(held.map(({ vmExtId, memoryBytes }) => [vmExtId, memoryBytes]))
  return bestMove(ctx, hosts, held, fullest, (vm, target) => {
    const bytes = bytesOf.get(vm.extId) ?? 0
    const after = hosts.map((host) => {
      if (host.extId === target) return fillOf(host, bytes)
      return fillOf(host, host.extId === fullest.extId ? -bytes : 0)
    })
    return spread - (Math.max(...after) - Math.min(...after))
  })
}

/** @param gainOf how much better it is then; not above 0: not at all */
async function bestMove(
  ctx: ScheduleContext,
  hosts: readonly HostCandidate[],
  held: readonly Allocation[],
  from: HostCandidate,
  gainOf: (vm: VmEntity, target: string) => number,
): Promise<Move | undefined> {
  const targets = hosts.filter(({ extId }) => extId !== from.extId)
  const choices = new Choices(targets, loadsOf(held))
  const reservationsOf = Map.groupBy(held, ({ vmExtId }) => vmExtId)
  const peersOf = peerFinder(ctx.store, ctx.drivers.hypervisor)
  let best: (Move & { readonly gain: number }) | undefined
  for (const vm of await movableOn(ctx, held, from.extId)) {
    const peers = [...(await peersOf(vm))]
      .flatMap((extId) => reservationsOf.get(extId) ?? [])
      .map((each) => each.hostExtId)
    const choice = choices.choose(await demandOf(ctx.store, vm), peers)
    if ('reasons' in choice || peers.includes(choice.hostExtId)) continue
    const gain = gainOf(vm, choice.hostExtId)
    if (gain > (best?.gain ?? 0)) best = { vm, hostExtId: choice.hostExtId, gain }
  }
  return best
}

async function movableOn(ctx: ScheduleContext, held: readonly Allocation[], hostExtId: string): Promise<VmEntity[]> {
  const own = held.filter((each) => each.hostExtId === hostExtId).sort((a, b) => b.memoryBytes - a.memoryBytes)
  const vms = await ctx.store.getMany(
    Vm,
    own.map(({ vmExtId }) => vmExtId),
  )
  const isMovable = (vm: VmEntity): boolean =>
    vm.host?.extId === hostExtId &&
    vm.powerState === 'ON' &&
    vm.isLiveMigrateCapable === true &&
    ctx.runner.queueLength(vm.extId) === 0
  return vms.filter(isMovable).slice(0, vmsTried)
}
