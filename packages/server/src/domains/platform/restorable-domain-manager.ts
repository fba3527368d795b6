/** Managers with a complete backup at a restore source. Source: behaviour platform.md 9. */
import type { EntityOf } from '@hyperplane/contract'
import {
  type RestorableDomainManager,
  restorableDomainManagerOperations,
} from '@hyperplane/contract/platform/restorable-domain-manager'
import { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import { listOf } from '../../core/standard.ts'
import { implement, parentOf } from '../context.ts'
import { restorePointsOf } from './backup/source-content.ts'

export const restorableDomainManager = implement(restorableDomainManagerOperations, {
  async listRestorableDomainManagers(ctx, request) {
    const managers = new Map<string, EntityOf<typeof RestorableDomainManager>>()
    // Newest first: each manager is shown as its newest manifest describes it.
    for (const { domainManager } of await restorePointsOf(ctx, parentOf(ctx, 'restoreSourceExtId', RestoreSource))) {
      const { links: _, ...shown } = domainManager
      if (!managers.has(shown.extId)) managers.set(shown.extId, shown)
    }
    return listOf([...managers.values()], request)
  },
})
