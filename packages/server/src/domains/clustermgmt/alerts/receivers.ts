/** The parts of a cluster that are told about its alerts: one line each, sorted. */
import type { ScheduleContext } from '../../../core/time/schedules.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Notice } from './alert.ts'

/**
 * Gets the notices of all clusters once, oldest first. They are removed after it has returned: a crash in between repeats them
 * under the same ids. It must return soon, because later notices wait for it.
 */
export type AlertReceiver = (ctx: ScheduleContext<Drivers>, notices: readonly Notice[]) => Promise<void>

/** By a name that is stored with the notices and never changes. */
export const alertReceivers: Readonly<Record<string, AlertReceiver>> = {}
