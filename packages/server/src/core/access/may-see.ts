/** Whether the identity that started a task may see an entity: texts of its errors name only these. */
import type { AnyResource } from '@hyperplane/contract'
import type { Caller } from '../caller.ts'
import type { AccessControl } from '../ports.ts'
import { isInScope } from './scope.ts'

export interface Reporting {
  readonly owner: Caller
  readonly services: { readonly access: Pick<AccessControl, 'viewScope'> }
}

export const maySee = async (
  { owner, services }: Reporting,
  kind: AnyResource,
  entity: { readonly extId: string } | undefined,
): Promise<boolean> => entity !== undefined && isInScope(await services.access.viewScope(owner, kind), entity)
