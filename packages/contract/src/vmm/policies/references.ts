/** References of policies to other entities. Source: catalogue vmm.json. */
import { object, optional, referenceTo, uuid } from '../../schema.ts'

// Not checked: the service sets them, and the entity may be deleted later.
const reference = (type: string) => object(`vmm.v4.ahv.policies.${type}`, { extId: optional(uuid()) })

export const CategoryReference = object('vmm.v4.ahv.policies.CategoryReference', {
  extId: optional(referenceTo('Category')),
})
export const ClusterReference = reference('ClusterReference')
export const HostReference = reference('HostReference')
export const UserReference = reference('UserReference')
