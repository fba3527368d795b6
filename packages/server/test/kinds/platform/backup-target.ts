/** Requests by which suites that cover every kind reach backup targets. */

import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { bucketTarget, made as completedTarget, inBucket, onCluster, targets } from '../../support/backups.ts'
import { createdPath, creating, deleteEntity } from '../../support/field-bases.ts'
import type { Creation } from '../kind.ts'
import { type FieldBase, nativeCluster, type RestartScenario } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'platform.createBackupTarget': { path: targets, body: () => ({ location: inBucket() }) },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.createBackupTarget': [
    async (app) => {
      const old = await bucketTarget(app)
      if (old !== undefined) await deleteEntity(app, `${targets}/${old.extId}`)
      return { path: targets, body: { location: inBucket({ region: 'us-east-1' }) } }
    },
    creating(targets, () => ({ location: onCluster(nativeCluster) })),
  ],
  'platform.updateBackupTargetById': [
    async (app) => {
      const target = (await bucketTarget(app)) ?? {
        extId: (await createdPath(app, targets, { location: inBucket() })).slice(-36),
      }
      return { path: `${targets}/${target.extId}`, body: { location: inBucket() } }
    },
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  // A paused target is backed up to as soon as it is updated.
  'platform.back-up-domain-manager': async (app) => {
    await completedTarget(app, inBucket())
    const { extId } = await bucketTarget(app)
    await app.store.transaction((store) => store.update(BackupTarget, extId, { isBackupPaused: true, isHeld: true }))
    return tagged(app, 'PUT', `${targets}/${extId}`, { location: inBucket() })
  },
  'platform.create-backup-target': async () => ({ method: 'POST', path: targets, body: { location: inBucket() } }),
  'platform.delete-backup-target': async (app) => tagged(app, 'DELETE', `${targets}/${nativeCluster}`),
  'platform.update-backup-target': async (app) => {
    await completedTarget(app, inBucket())
    const location = inBucket({ credentials: undefined }, { rpoInMinutes: 600 })
    return tagged(app, 'PUT', `${targets}/${(await bucketTarget(app)).extId}`, { location })
  },
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createBackupTarget: () => walk.post(walk.collections.backupTargets, { location: onCluster(walk.nativeCluster) }),
  deleteBackupTarget: walk.removing(walk.collections.backupTargets),
}

export const walkEntities = { [walk.collections.backupTargets]: [] }

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'platform.back-up-domain-manager': 'the update of the target that started it has ended before',
}
