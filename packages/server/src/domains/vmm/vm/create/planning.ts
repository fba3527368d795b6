import type { WriteContext } from '../../../context.ts'

export type Planning = Pick<
  WriteContext,
  'caller' | 'clock' | 'drivers' | 'ids' | 'operation' | 'services' | 'store' | 'tenantId'
>
