import type { OutsideVm, PowerChange } from '../external-hypervisor.ts'
import type { Run } from '../telemetry.ts'
import type { DiskFact } from './hypervisor/facts.ts'

export type State = NonNullable<OutsideVm['powerState']>

const rememberedRuns = 200

export interface OutsideVmFact {
  readonly vm: OutsideVm
  readonly datastoreName?: string
  /** The hypervisor's own tools are installed; they run a while after each boot. */
  readonly hasOwnTools: boolean
  readonly past: readonly Run[]
  /** Absent: the VM does not run. */
  readonly now?: { readonly from: number; readonly startedAt: number }
  readonly lastCall?: string
  /** Tools of this control plane that are set up in the guest. */
  readonly tools?: ToolsInGuest
  readonly toolsIso?: { readonly extId: string; readonly addedDriveExtId?: string }
  /** The guest refuses every login. */
  readonly refusesLogin?: boolean
  readonly history?: SnapshotHistory
}

export interface SnapshotHistory {
  readonly snapshots: Readonly<Record<string, SnapshotFact>>
  /** Copy-on-write layers. A disk is the top layer with its own id. */
  readonly layers: Readonly<Record<string, DiskFact>>
  /** NICs with new MAC addresses since the last revert. */
  readonly renewedNicExtIds?: readonly string[]
}

export type SnapshotFact = Pick<OutsideVmFact, 'hasOwnTools' | 'tools' | 'toolsIso' | 'vm'>

export interface ToolsInGuest {
  readonly isOn: boolean
  /** They run in boots that started at this time or later. */
  readonly from: number
  readonly setUpBy: string
  /** The tools that the last setup replaced. */
  readonly before?: Omit<ToolsInGuest, 'before'> | undefined
}

export function withPower(fact: OutsideVmFact, state: State, change: PowerChange, at: number): OutsideVmFact {
  const { now, ...rest } = fact
  // A resumed guest continues, but a new run begins: nothing was measured while it was suspended.
  const past = now === undefined ? fact.past : [...fact.past, runOf(fact, now, at)].slice(-rememberedRuns)
  const isFresh = change !== 'ON' || fact.vm.powerState === 'OFF'
  const startedAt = isFresh ? at : (fact.past.at(-1)?.startedAt ?? at)
  return {
    ...rest,
    vm: { ...fact.vm, powerState: state },
    past,
    ...(state === 'ON' ? { now: { from: at, startedAt } } : {}),
  }
}

export const runOf = (
  { vm }: OutsideVmFact,
  { from, startedAt }: { from: number; startedAt: number },
  to: number,
): Run => ({
  from,
  to: Math.max(from, to),
  startedAt,
  hostExtId: vm.host?.extId ?? '',
  clusterExtId: vm.cluster?.extId ?? '',
  memoryBytes: vm.memorySizeBytes ?? 0,
  vcpus: vm.numCpus ?? 1,
})
