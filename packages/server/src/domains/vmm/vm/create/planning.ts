import type { WriteContext } from '../../../context.ts'

/** What the planning of a VM needs of a request; a step of a task has it too. */
export type Planning = Pick<
  WriteContext,
  'caller' | 'clock' | 'drivers' | 'ids' | 'operation' | 'services' | 'store' | 'tenantId'
>
