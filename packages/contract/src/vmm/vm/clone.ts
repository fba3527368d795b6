/** Source: catalogue vmm.json; behaviour vmm.md 1.1 (Clone). */
import * as s from '../../schema.ts'
import { LegacyBoot, UefiBoot } from './boot-config.ts'
import { VmGcProfileConfig } from './guest/customization-profile.ts'
import { GuestCustomizationParams } from './guest/guest-customization.ts'
import { Nic } from './parts/nic.ts'

export const vmOverrides = {
  name: s.optional(s.text({ minLength: 1, maxLength: 80 })),
  memorySizeBytes: s.optional(s.integer({ minimum: 1 })),
  numSockets: s.optional(s.integer({ minimum: 1 })),
  numCoresPerSocket: s.optional(s.integer({ minimum: 1 })),
  numThreadsPerCore: s.optional(s.integer({ minimum: 1 })),
  /** Replace all NICs; absent: the same subnets. */
  nics: s.optional(s.arrayOf(Nic.schema, { maxItems: 64 })),
  guestCustomization: s.secret(GuestCustomizationParams),
} as const

export const CloneOverrideParams = s.object('vmm.v4.ahv.config.CloneOverrideParams', {
  ...vmOverrides,
  bootConfig: s.optional(s.oneOf(LegacyBoot, UefiBoot)),
  guestCustomizationProfileConfig: s.optional(VmGcProfileConfig),
})
