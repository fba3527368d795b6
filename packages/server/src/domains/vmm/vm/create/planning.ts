import type { WriteContext } from '../../../context.ts'

/** The part of a request's context that planning a VM needs; a step of a task has it too. */
export type Planning = Pick<
  WriteContext,
  'caller' | 'clock' | 'drivers' | 'ids' | 'operation' | 'services' | 'store' | 'tenantId'
>
