/** The settings that a VM gets from a profile and its override. Source: behaviour vmm.md 1.14. */
import type { ValueOf } from '@hyperplane/contract'
import type {
  VmGcProfileAnswerFile,
  VmGcProfileConfig,
  VmGcProfileSysprepConfig,
  VmGcProfileSysprepParams,
  VmGcProfileSysprepParamsOverrideSpec,
} from '@hyperplane/contract/vmm/vm/guest/customization-profile'
import { parseXml } from '@rgrove/parse-xml'
import { type ApiError, refuseAll } from '../../../../core/api-error.ts'
import { defined } from '../../../../core/defined.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'

type Config = ValueOf<typeof VmGcProfileSysprepConfig>
type Parameters = ValueOf<typeof VmGcProfileSysprepParams>
type AnswerFile = ValueOf<typeof VmGcProfileAnswerFile>
type Changes = ValueOf<typeof VmGcProfileSysprepParamsOverrideSpec>
type General = NonNullable<Parameters['generalSettings']>
type Locale = NonNullable<Parameters['localeSettings']>
export type ConfigOverride = ValueOf<typeof VmGcProfileConfig>['configOverrideSpec']

const path = 'guestCustomizationProfileConfig/configOverrideSpec/customization'
const isA = (value: { readonly $objectType?: string | undefined } | undefined, name: string): boolean =>
  value?.$objectType === `vmm.v4.ahv.config.VmGcProfile${name}`

export const answerFileOf = ({ customization }: Config): AnswerFile | undefined =>
  isA(customization, 'AnswerFile') ? (customization as AnswerFile) : undefined
export const parametersOf = ({ customization }: Config): Parameters | undefined =>
  isA(customization, 'AnswerFile') ? undefined : (customization as Parameters)

/** Faults never show the text: it may hold passwords. */
export function xmlFaults(text: string | undefined, attributePath: string): ApiError[] {
  try {
    parseXml(text ?? '')
    return []
  } catch {
    return [fault(attributePath, 'well-formed XML', text === undefined ? undefined : 'a text that is not')]
  }
}

export interface StagedSettings {
  readonly guestCustomization: NonNullable<VmEntity['guestCustomization']>
  readonly guestSettings: NonNullable<VmEntity['guestSettings']>
  readonly warnings: readonly string[]
}

interface NewGuest {
  readonly name: string
  readonly nics: number
}

/** @throws ApiError 400 naming each setting that is missing or does not fit */
export function stagedSettings(config: Config, override: ConfigOverride, vm: NewGuest): StagedSettings {
  const change = override?.customization
  const file = answerFileOf(config)
  const isFileGiven = isA(change, 'AnswerFileOverrideSpec')
  const [parameters, answers] = ['settings', 'an answer file']
  if (change !== undefined && isFileGiven !== (file !== undefined)) {
    const expected = `${isFileGiven ? parameters : answers}, as in the profile`
    throw fault(path, expected, isFileGiven ? answers : parameters)
  }
  if (file === undefined) return stagedParameters(parametersOf(config) ?? {}, (change ?? {}) as Changes, vm)
  const { unattendXml: given } = (change ?? {}) as AnswerFile
  if (given !== undefined) refuseAll(xmlFaults(given, `${path}/unattendXml`))
  return stagedFile(given ?? file.unattendXml ?? '')
}

/** Windows chooses a name where the file has `*`. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/<ComputerName>([^<]*)<\/ComputerName>/g)].map(([, name = '']) => name.trim())

function stagedFile(text: string): StagedSettings {
  const computerName = namesIn(text).find((name) => name !== '' && !name.startsWith('*'))
  const value = Buffer.from(text).toString('base64')
  const sysprepScript = { $objectType: 'vmm.v4.ahv.config.Unattendxml', value } as const
  return {
    guestCustomization: { config: { $objectType: 'vmm.v4.ahv.config.Sysprep', sysprepScript } },
    guestSettings: computerName === undefined ? {} : { computerName },
    warnings: [],
  }
}

type Replacement<T> = { readonly $objectType?: string | undefined; readonly value?: T | undefined } | undefined

/** Absent: inherited. `DiscardSettings` drops the setting. */
const chosen = <T>(inherited: T | undefined, replacement: unknown): T | undefined =>
  replacement === undefined ? inherited : (replacement as Replacement<T>)?.value

function stagedParameters(settings: Parameters, change: Changes, vm: NewGuest): StagedSettings {
  const faults: ApiError[] = []
  const general = generalOf(settings.generalSettings ?? {}, change.generalSettings ?? {})
  const locale = localeOf(settings.localeSettings ?? {}, change.localeSettings ?? {})
  const computerName = computerNameOf(settings, change, vm, faults)
  const { configs, addresses } = nicsOf(settings, change, vm.nics, faults)
  const membership = membershipOf(settings, change, faults)
  const commands = change.firstLogonCommands ?? settings.firstLogonCommands ?? []
  refuseAll(faults)
  const pairs = pairsOf({
    ...general,
    ...locale,
    computerName,
    ...membership,
    commands,
    nics: configs.slice(0, vm.nics),
  })
  const sysprepScript = { $objectType: 'vmm.v4.ahv.config.CustomKeyValues', keyValuePairs: pairs } as const
  const surplus = configs.length - vm.nics
  return {
    guestCustomization: { config: { $objectType: 'vmm.v4.ahv.config.Sysprep', sysprepScript } },
    guestSettings: {
      ...(computerName === undefined ? {} : { computerName }),
      ...(addresses.length === 0 ? {} : { addresses }),
    },
    warnings: surplus > 0 ? [`The VM has ${vm.nics} NICs: ${surplus} NIC settings of the profile are ignored.`] : [],
  }
}

const generalOf = (settings: General, change: NonNullable<Changes['generalSettings']>) => ({
  administratorPassword: chosen(settings.administratorPassword, change.administratorPassword),
  logonCount: change.autoLogonSettings?.logonCount ?? settings.autoLogonSettings?.logonCount,
  registeredOrganization: chosen(settings.registeredOrganization, change.registeredOrganization),
  registeredOwner: chosen(settings.registeredOwner, change.registeredOwner),
  timezone: chosen(settings.timezone, change.timezone),
  windowsProductKey: chosen(settings.windowsProductKey, change.windowsProductKey),
})

const localeOf = (settings: Locale, change: NonNullable<Changes['localeSettings']>) => ({
  systemLocale: chosen(settings.systemLocale, change.systemLocale),
  uiLanguage: chosen(settings.uiLanguage, change.uiLanguage),
  userLocale: chosen(settings.userLocale, change.userLocale),
})

function computerNameOf(settings: Parameters, change: Changes, vm: NewGuest, faults: ApiError[]): string | undefined {
  const at = `${path}/generalSettings/computerName`
  const inherited = settings.generalSettings?.computerName
  const given = change.generalSettings?.computerName
  if (given === undefined && isA(inherited, 'MustProvideDuringDeployment')) {
    faults.push(fault(at, 'a computer name, because the profile has none', undefined))
    return undefined
  }
  const isVmName = given === undefined ? inherited !== undefined : isA(given, 'UseVmNameOverrideSpec')
  const name = isVmName ? vm.name : chosen<string>(undefined, given)
  const isFit = name === undefined || (/^[A-Za-z0-9-]{1,15}$/.test(name) && !/^[0-9]+$/.test(name))
  if (!isFit) faults.push(fault(at, '1 to 15 letters, digits and "-", not digits alone', name))
  return name
}

/** Settings of the profile and of the override belong together by their position. */
function nicsOf(settings: Parameters, change: Changes, nics: number, faults: ApiError[]) {
  const inherited = settings.networkSettings?.nicConfigList ?? []
  const given = change.networkSettings?.nicConfigList ?? []
  const addresses: { nic: number; address: string }[] = []
  const configs = Array.from({ length: Math.max(inherited.length, given.length) }, (_, index) => {
    const { ipv4Config, dnsConfig } = given[index] ?? {}
    const fixed = isA(ipv4Config, 'NicIpv4ConfigOverrideSpec')
      ? (ipv4Config as { ipAddress?: { value: string }; defaultGateways?: readonly string[] })
      : undefined
    const mustProvide = ipv4Config === undefined && isA(inherited[index]?.ipv4Config, 'MustProvideDuringDeployment')
    const at = `${path}/networkSettings/nicConfigList[${index}]/ipv4Config`
    const isMissing = mustProvide || (fixed !== undefined && fixed.ipAddress === undefined)
    if (isMissing && index < nics) faults.push(fault(at, 'an IPv4 address', undefined))
    if (fixed?.ipAddress !== undefined && index < nics) addresses.push({ nic: index, address: fixed.ipAddress.value })
    const dns = { ...inherited[index]?.dnsConfig, ...dnsConfig }
    return {
      address: fixed?.ipAddress?.value,
      gateways: fixed?.defaultGateways,
      dnsServers: [dns.preferredDnsServerAddress, ...(dns.alternateDnsServerAddresses ?? [])],
    }
  })
  return { configs, addresses }
}

function membershipOf(settings: Parameters, change: Changes, faults: ApiError[]) {
  const inherited = settings.workgroupOrDomainInfo
  const given = change.workgroupOrDomainInfo
  if (isA(given, 'DiscardSettings')) return {}
  const member = (given ?? inherited ?? {}) as { name?: string; credentials?: object }
  if (member.credentials === undefined) return { workgroup: member.name }
  const before = (inherited as { credentials?: object } | undefined)?.credentials
  const domain: Readonly<Record<string, unknown>> = { ...before, ...defined(member.credentials) }
  for (const name of ['domainName', 'username', 'password']) {
    const at = `${path}/workgroupOrDomainInfo/credentials/${name}`
    if (domain[name] === undefined) faults.push(fault(at, `the ${name} of the domain`, undefined))
  }
  return { domain: domain['domainName'], domainUser: domain['username'], domainPassword: domain['password'] }
}

/** One pair for each value; parts of lists have their index in the name. */
function pairsOf(value: unknown, name = ''): { name: string; value: string }[] {
  if (value === undefined) return []
  if (typeof value !== 'object' || value === null) return [{ name, value: String(value) }]
  if (Array.isArray(value)) return value.flatMap((item, index) => pairsOf(item, `${name}[${index}]`))
  return Object.entries(value).flatMap(([field, item]) => pairsOf(item, name === '' ? field : `${name}/${field}`))
}
