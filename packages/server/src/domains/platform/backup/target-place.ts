import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import type { BackupPlace } from '../../../archive/format.ts'
import { placeOf } from '../../../archive/places.ts'
import type { StepContext } from '../../context.ts'
import type { Target } from './target-rules.ts'

export interface RunInput {
  readonly targetExtId: string
  readonly restorePointExtId: string
}

/** Also finds a target that is still being created. */
export async function targetOfRun(
  ctx: Pick<StepContext, 'store'>,
  { targetExtId }: Pick<RunInput, 'targetExtId'>,
): Promise<Target> {
  const target = await ctx.store.pending(BackupTarget, targetExtId)
  if (target === undefined) throw new Error(`the backup target ${targetExtId} was removed while a task used it`)
  return target
}

export const placeOfTarget = (ctx: Pick<StepContext, 'drivers' | 'secrets'>, target: Target): BackupPlace => ({
  store: ctx.drivers.objectStore,
  place: placeOf('BackupTarget', target, ctx.secrets),
})
