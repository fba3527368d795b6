/**
 * Customisation that the guest runs at its next boot. It may contain credentials, so all of it is write-only.
 * Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.1.
 */
import { arrayOf, enumeration, object, oneOf, optional, secret, text } from '../../../schema.ts'
import { KVPair } from '../../../shapes.ts'

const CustomKeyValues = object('vmm.v4.ahv.config.CustomKeyValues', {
  keyValuePairs: optional(arrayOf(KVPair, { maxItems: 32 })),
})

/** Base64 texts. */
const script = (maxLength: number) => secret(text({ maxLength, multiline: true }))

export const Sysprep = object('vmm.v4.ahv.config.Sysprep', {
  installType: optional(enumeration(['FRESH', 'PREPARED'])),
  sysprepScript: optional(oneOf(object('vmm.v4.ahv.config.Unattendxml', { value: script(32000) }), CustomKeyValues)),
})
export const CloudInit = object('vmm.v4.ahv.config.CloudInit', {
  datasourceType: optional(enumeration(['CONFIG_DRIVE_V2'])),
  metadata: script(32000),
  cloudInitScript: optional(oneOf(object('vmm.v4.ahv.config.Userdata', { value: script(128000) }), CustomKeyValues)),
})
export const GuestCustomizationParams = object('vmm.v4.ahv.config.GuestCustomizationParams', {
  config: optional(oneOf(Sysprep, CloudInit)),
})
