/** Write-only, because it may contain credentials. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.1. */
import * as s from '../../../schema.ts'
import { KVPair } from '../../../shapes.ts'

const CustomKeyValues = s.object('vmm.v4.ahv.config.CustomKeyValues', {
  keyValuePairs: s.optional(s.arrayOf(KVPair, { maxItems: 32 })),
})

/** Base64. */
const script = (maxLength: number) => s.secret(s.text({ maxLength, multiline: true }))

export const Sysprep = s.object('vmm.v4.ahv.config.Sysprep', {
  installType: s.optional(s.enumeration(['FRESH', 'PREPARED'])),
  sysprepScript: s.optional(
    s.oneOf(s.object('vmm.v4.ahv.config.Unattendxml', { value: script(32000) }), CustomKeyValues),
  ),
})
export const CloudInit = s.object('vmm.v4.ahv.config.CloudInit', {
  datasourceType: s.optional(s.enumeration(['CONFIG_DRIVE_V2'])),
  metadata: script(32000),
  cloudInitScript: s.optional(
    s.oneOf(s.object('vmm.v4.ahv.config.Userdata', { value: script(128000) }), CustomKeyValues),
  ),
})
export const GuestCustomizationParams = s.object('vmm.v4.ahv.config.GuestCustomizationParams', {
  config: s.optional(s.oneOf(Sysprep, CloudInit)),
})
