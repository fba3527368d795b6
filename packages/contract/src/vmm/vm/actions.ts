/** Bodies of actions on a VM. Source: catalogue vmm.json; behaviour vmm.md 1.1. */
import * as s from '../../schema.ts'
import { CategoryReference } from '../references.ts'

const categories = s.optional(s.arrayOf(CategoryReference, { minItems: 1, maxItems: 256 }))

export const AssociateVmCategoriesParams = s.object('vmm.v4.ahv.config.AssociateVmCategoriesParams', { categories })
export const DisassociateVmCategoriesParams = s.object('vmm.v4.ahv.config.DisassociateVmCategoriesParams', {
  categories,
})
export const RevertParams = s.object('vmm.v4.ahv.config.RevertParams', {
  vmRecoveryPointExtId: s.referenceTo('VmRecoveryPoint'),
  overrideSpec: s.optionalObject('vmm.v4.ahv.config.VmRevertOverrideSpec', {
    shouldRevertVmCategories: s.withDefault(s.boolean(), false),
    shouldRevertVmOwner: s.withDefault(s.boolean(), false),
  }),
})

export const GuestPowerOptions = s.object('vmm.v4.ahv.config.GuestPowerOptions', {
  guestPowerStateTransitionConfig: s.optionalObject('vmm.v4.ahv.config.GuestPowerStateTransitionConfig', {
    shouldEnableScriptExec: s.withDefault(s.boolean(), false),
    shouldFailOnScriptFailure: s.withDefault(s.boolean(), false),
  }),
})
export const VmMigrateToHostParams = s.object('vmm.v4.ahv.config.VmMigrateToHostParams', {
  host: s.object('vmm.v4.ahv.config.HostReference', { extId: s.optional(s.referenceTo('Host')) }),
})
