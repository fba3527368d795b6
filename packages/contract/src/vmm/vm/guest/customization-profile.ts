/** Windows setup: in a profile, and in the override of a VM. Source: catalogue vmm.json; behaviour vmm.md 1.14. */
import * as s from '../../../schema.ts'
import { IPv4Address } from '../../../shapes.ts'

const object = <const F extends s.Fields>(name: string, fields: F) =>
  s.object(`vmm.v4.ahv.config.VmGcProfile${name}`, fields)
const value = <S extends s.AnySchema>(name: string, schema: S) => object(name, { value: schema })

const name = s.text({ minLength: 1, maxLength: 256 })
const password = s.text({ minLength: 1, maxLength: 256, secret: true })
const productKey = s.text({ minLength: 1, maxLength: 64, secret: true })
const timezone = s.text({ minLength: 1, maxLength: 128 })
/** `en-US` */
const locale = s.text({ pattern: '^[a-z]{2,3}(?:-[A-Z][a-z]{3})?-(?:[A-Z]{2}|[0-9]{3})$' })
/** NetBIOS. */
const workgroup = s.text({ minLength: 1, maxLength: 15, pattern: '^[^\\\\/:*?"<>|+=;,.\\s][^\\\\/:*?"<>|+=;,]*$' })
const logonCount = s.integer({ minimum: 1, maximum: 999 })
const address = IPv4Address.fields.value
const commands = s.optional(s.arrayOf(s.text({ minLength: 1, maxLength: 1024 }), { maxItems: 64 }))
const addresses = s.optional(s.arrayOf(address, { maxItems: 8 }))
const unattendXml = s.text({ minLength: 1, maxLength: 32_000, multiline: true })

const MustProvide = object('MustProvideDuringDeployment', {})
const Discard = object('DiscardSettings', {})

export const VmGcProfileSysprepParams = object('SysprepParams', {
  generalSettings: s.optional(
    object('GeneralSettings', {
      computerName: s.optional(s.oneOf(MustProvide, object('UseVmName', {}))),
      administratorPassword: s.secret(password),
      autoLogonSettings: s.optional(object('AutoLogonSettings', { logonCount })),
      registeredOrganization: s.optional(name),
      registeredOwner: s.optional(name),
      timezone: s.optional(timezone),
      windowsProductKey: s.secret(productKey),
    }),
  ),
  localeSettings: s.optional(
    object('LocaleSettings', {
      systemLocale: s.optional(locale),
      uiLanguage: s.optional(locale),
      userLocale: s.optional(locale),
    }),
  ),
  networkSettings: s.optional(
    object('NetworkSettings', {
      /** In the order of the VM's NICs. */
      nicConfigList: s.arrayOf(
        object('NicConfig', {
          ipv4Config: s.oneOf(object('UseDhcp', {}), MustProvide),
          dnsConfig: s.optional(
            object('DnsConfig', { preferredDnsServerAddress: address, alternateDnsServerAddresses: addresses }),
          ),
        }),
        { maxItems: 64 },
      ),
    }),
  ),
  workgroupOrDomainInfo: s.optional(
    s.oneOf(
      object('Workgroup', { name: workgroup }),
      object('DomainSettings', {
        credentials: object('DomainCredentials', { domainName: name, username: name, password: s.secret(password) }),
      }),
    ),
  ),
  firstLogonCommands: commands,
})

/** The text is shown to callers who may update the profile. */
export const VmGcProfileAnswerFile = object('AnswerFile', { unattendXml: s.optional(unattendXml) })

export const VmGcProfileSysprepConfig = object('SysprepConfig', {
  customization: s.oneOf(VmGcProfileSysprepParams, VmGcProfileAnswerFile),
})

const localeOverride = s.optional(s.oneOf(Discard, value('LocaleSettingOverride', locale)))

/** An absent setting is that of the profile; `DiscardSettings` drops it. */
export const VmGcProfileSysprepParamsOverrideSpec = object('SysprepParamsOverrideSpec', {
  generalSettings: s.optional(
    object('GeneralSettingsOverrideSpec', {
      computerName: s.optional(
        s.oneOf(
          value('ComputerName', s.text({ minLength: 1, maxLength: 64 })),
          Discard,
          object('UseVmNameOverrideSpec', {}),
        ),
      ),
      administratorPassword: s.optional(s.oneOf(value('AdministratorPassword', password), Discard)),
      autoLogonSettings: s.optional(object('AutoLogonSettingsOverrideSpec', { logonCount: s.optional(logonCount) })),
      registeredOrganization: s.optional(s.oneOf(value('RegisteredOrganization', name), Discard)),
      registeredOwner: s.optional(s.oneOf(Discard, value('RegisteredOwner', name))),
      timezone: s.optional(s.oneOf(Discard, value('Timezone', timezone))),
      windowsProductKey: s.optional(s.oneOf(value('WindowsProductKey', productKey), Discard)),
    }),
  ),
  localeSettings: s.optional(
    object('LocaleSettingsOverrideSpec', {
      systemLocale: localeOverride,
      uiLanguage: localeOverride,
      userLocale: localeOverride,
    }),
  ),
  networkSettings: s.optional(
    object('NetworkSettingsOverrideSpec', {
      nicConfigList: s.optional(
        s.arrayOf(
          object('NicConfigOverrideSpec', {
            ipv4Config: s.oneOf(
              object('UseDhcpOverrideSpec', {}),
              object('NicIpv4ConfigOverrideSpec', { ipAddress: s.optional(IPv4Address), defaultGateways: addresses }),
            ),
            dnsConfig: s.optional(
              object('DnsConfigOverrideSpec', {
                preferredDnsServerAddress: s.optional(address),
                alternateDnsServerAddresses: addresses,
              }),
            ),
          }),
          { maxItems: 64 },
        ),
      ),
    }),
  ),
  workgroupOrDomainInfo: s.optional(
    s.oneOf(
      Discard,
      object('WorkgroupOverrideSpec', { name: workgroup }),
      object('DomainSettingsOverrideSpec', {
        credentials: object('DomainCredentialsOverrideSpec', {
          domainName: s.optional(name),
          username: s.optional(name),
          password: s.secret(password),
        }),
      }),
    ),
  ),
  firstLogonCommands: commands,
})

export const VmGcProfileReference = object('Reference', {
  extId: s.optional(s.referenceTo('VmGuestCustomizationProfile')),
})

export const SysprepConfigOverrideSpec = object('SysprepConfigOverrideSpec', {
  customization: s.oneOf(
    object('AnswerFileOverrideSpec', { unattendXml: s.secret(unattendXml) }),
    VmGcProfileSysprepParamsOverrideSpec,
  ),
})

export const VmGcProfileConfig = object('Config', {
  profile: VmGcProfileReference,
  configOverrideSpec: s.optional(s.oneOf(SysprepConfigOverrideSpec)),
})
