import { DriverError } from '../../core/tasks/define-task.ts'
import type { OutsideVm } from '../external-hypervisor.ts'
import type { Run } from '../telemetry.ts'

export interface OutsideVmFact {
  readonly vm: OutsideVm
  readonly areToolsRunning: boolean
  /** Oldest first. */
  readonly past: readonly Run[]
  /** Milliseconds since 1970; absent: it does not run. */
  readonly now?: { readonly from: number; readonly startedAt: number }
  readonly lastCall?: string
  /** Tools of this control plane that are set up in the guest. */
  readonly tools?: ToolsInGuest
  readonly toolsIso?: { readonly extId: string; readonly addedDriveExtId?: string }
  /** The guest refuses every login. */
  readonly refusesLogin?: boolean
}

export interface ToolsInGuest {
  readonly isOn: boolean
  /** They run in boots that started at this time or later; milliseconds since 1970. */
  readonly from: number
  readonly setUpBy: string
  /** The tools that the last setup replaced. */
  readonly before?: Omit<ToolsInGuest, 'before'> | undefined
}

export const final = (fault: string): DriverError => new DriverError(fault, { retryable: false })
