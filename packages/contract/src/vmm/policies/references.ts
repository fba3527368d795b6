/** Source: catalogue vmm.json. */
import * as s from '../../schema.ts'

// Not checked: the service sets them, and the entity may be deleted later.
const reference = (type: string) => s.object(`vmm.v4.ahv.policies.${type}`, { extId: s.optional(s.uuid()) })

export const CategoryReference = s.object('vmm.v4.ahv.policies.CategoryReference', {
  extId: s.optional(s.referenceTo('Category')),
})
export const ClusterReference = reference('ClusterReference')
export const HostReference = reference('HostReference')
export const UserReference = reference('UserReference')
export const VmReference = reference('VmReference')

export const empty = <const N extends string>(type: N) => s.object(`vmm.v4.ahv.policies.${type}`, {})
