/** System roles, stored as rows so that lists and references treat them like custom ones. Source: behaviour iam.md 8. */

import { type RoleName, systemRoles } from '@hyperplane/contract'
import { Role } from '@hyperplane/contract/iam/role'
import { catalogueId } from '../../../core/ids/named-id.ts'
import type { Store } from '../../../store/store.ts'
import { clientNameOf } from './clients.ts'
import { iamOperations } from './operations.ts'
import { releaseTime } from './release.ts'

export const systemRoleId = (name: RoleName): string => catalogueId('role', name)
export const superAdminId = systemRoleId('Super Admin')

export function systemRoleRows(tenantId: string): Role[] {
  return systemRoles.map((name) => ({
    extId: systemRoleId(name),
    tenantId,
    displayName: name,
    description: `System role ${name}.`,
    clientName: clientNameOf('platform'),
    operations: [...iamOperations.values()]
      .filter((operation) => operation.roles.has(name))
      .map((operation) => operation.extId),
    isSystemDefined: true,
    operationSchemaChangeImpact: 'NOT_IMPACTED',
    createdBy: '00000000-0000-0000-0000-000000000000',
    createdTime: releaseTime,
    lastUpdatedTime: releaseTime,
  }))
}

/** At every start: a new release may give roles other operations. */
export async function syncSystemRoles(store: Store, tenantId: string): Promise<void> {
  const rows = systemRoleRows(tenantId)
  const stored = new Map(
    (
      await store.getMany(
        Role,
        rows.map((row) => row.extId),
      )
    ).map((row) => [row.extId, row]),
  )
  const changed = rows.filter((row) => JSON.stringify(stored.get(row.extId)) !== JSON.stringify(row))
  if (changed.length === 0) return
  await store.transaction(async (transaction) => {
    for (const row of changed) {
      if (stored.has(row.extId)) await transaction.replace(Role, row)
      else await transaction.insert(Role, row)
    }
  })
}
