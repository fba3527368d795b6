/** The fields that say who made an entity, and when. Source: catalogue iam.json. */
import type { WriteContext } from '../context.ts'

export function authorship({ caller, clock }: Pick<WriteContext, 'caller' | 'clock'>) {
  const now = clock.iso()
  return { createdBy: caller.extId, createdTime: now, lastUpdatedTime: now }
}
