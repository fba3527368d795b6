/** Requests by which suites that cover every kind reach customisation profiles. */
import { changing, deleting } from '../../restart/asked.ts'
import {
  answerFile,
  aProfile,
  of,
  parameters,
  profileBody,
  profiles,
  withParameters,
  withProfile,
} from '../../support/customization-profiles.ts'
import { createdPath, creating, named, once, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, nativeCluster, type RestartScenario } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVmGuestCustomizationProfile': { path: profiles, body: (name) => ({ ...profileBody(), name }) },
}

const made = async (app: TestApp): Promise<string> => `${profiles}/${await aProfile(app)}`

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-vm-guest-customization-profile': async () => ({ method: 'POST', path: profiles, body: profileBody() }),
  'vmm.update-vm-guest-customization-profile': async (app) => changing(app, await made(app), { description: 'killed' }),
  'vmm.delete-vm-guest-customization-profile': async (app) => deleting(await made(app)),
}

const nicConfigList = [{ ipv4Config: of('UseDhcp'), dnsConfig: { preferredDnsServerAddress: '10.0.0.1' } }]
const full = () => ({
  ...profileBody(
    withParameters({
      generalSettings: { computerName: of('UseVmName'), autoLogonSettings: { logonCount: 1 } },
      localeSettings: {},
      networkSettings: { nicConfigList },
      workgroupOrDomainInfo: of('Workgroup', { name: 'WORKGROUP' }),
      firstLogonCommands: ['dir'],
    }),
  ),
  name: named(),
})
const inDomain = () => {
  const credentials = { domainName: 'corp.example', username: 'joiner', password: 'S3.domainjoin' }
  return {
    ...profileBody(withParameters({ workgroupOrDomainInfo: of('DomainSettings', { credentials }) })),
    name: named(),
  }
}
const withFile = () => ({ ...profileBody(answerFile('<unattend/>')), name: named() })

/** The part of a body that names a profile, which is made once. */
const profiled =
  (profile: () => object, change: object) =>
  async (app: TestApp): Promise<object> => {
    const path = await once(app, `profile ${JSON.stringify(change)}`, () => createdPath(app, profiles, profile()))
    return withProfile(path.split('/').at(-1) as string, change)
  }
const changes = {
  generalSettings: { computerName: of('ComputerName', { value: 'web-1' }), autoLogonSettings: { logonCount: 2 } },
  localeSettings: {},
  networkSettings: {
    nicConfigList: [
      { ipv4Config: of('NicIpv4ConfigOverrideSpec', { ipAddress: { value: '10.0.0.7' } }), dnsConfig: {} },
    ],
  },
}
const credentials = { domainName: 'corp.example', username: 'joiner', password: 'S3.domainjoin' }

/** With parameters for a workgroup, with parameters for a domain, with an answer file. */
export const profileConfigs = [
  profiled(full, parameters({ ...changes, workgroupOrDomainInfo: of('WorkgroupOverrideSpec', { name: 'OTHERS' }) })),
  profiled(inDomain, parameters({ workgroupOrDomainInfo: of('DomainSettingsOverrideSpec', { credentials }) })),
  profiled(withFile, of('AnswerFileOverrideSpec', { unattendXml: '<other/>' })),
]

/** Clones that are customised by a profile. */
export const cloneBases: readonly FieldBase[] = profileConfigs.map((config) => async (app) => {
  const vms = '/vmm/v4.2/ahv/config/vms'
  const body = { name: named(), cluster: { extId: nativeCluster } }
  const source = await once(app, 'VM that is customized', () => createdPath(app, vms, body))
  return { path: `${source}/$actions/clone`, body: { name: named(), ...(await config(app)) } }
})

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createVmGuestCustomizationProfile': [full, inDomain, withFile].map((body) => creating(profiles, body)),
  'vmm.updateVmGuestCustomizationProfileById': [full, inDomain, withFile].map((body) => updating(profiles, body)),
}

const kindsOf = (field: string, names: readonly string[]): Record<string, readonly unknown[]> =>
  Object.fromEntries(names.map((name) => [`* ${field}<VmGcProfile${name}>`, [of(name)]]))
const discarded = [
  'administratorPassword',
  'registeredOrganization',
  'registeredOwner',
  'systemLocale',
  'timezone',
  'uiLanguage',
  'userLocale',
  'windowsProductKey',
  'workgroupOrDomainInfo',
]
const locales = ['systemLocale', 'uiLanguage', 'userLocale']
const addresses = ['10.0.0.7']

const override =
  'guestCustomizationProfileConfig/configOverrideSpec<VmGcProfileSysprepConfigOverrideSpec>/customization<VmGcProfileSysprepParamsOverrideSpec>'
/** @param prefix operation, and path to the field `guestCustomizationProfileConfig` */
const localeValues = (prefix: string): Record<string, readonly unknown[]> =>
  Object.fromEntries(
    locales.map((name) => [
      `${prefix}${override}/localeSettings/${name}<VmGcProfileLocaleSettingOverride>/value`,
      ['de-DE'],
    ]),
  )
/** Clones that are customised by a profile. */
export const cloneValues = localeValues('vmm.cloneVm ')
/** Locales for the profile of an updated template. */
export const templateValues = localeValues(
  'vmm.updateTemplateById templateVersionSpec/versionSource<TemplateVersionReference>/overrideVmConfig/',
)

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(locales.map((name) => [`* ${name}`, ['de-DE']])),
  ...Object.assign({}, ...discarded.map((name) => kindsOf(name, ['DiscardSettings']))),
  ...kindsOf('computerName', ['MustProvideDuringDeployment', 'UseVmName', 'DiscardSettings', 'UseVmNameOverrideSpec']),
  ...kindsOf('ipv4Config', ['MustProvideDuringDeployment', 'UseDhcp', 'UseDhcpOverrideSpec']),
  '* alternateDnsServerAddresses': addresses,
  '* defaultGateways': addresses,
  '* preferredDnsServerAddress': addresses,
  '* unattendXml': ['<other/>'],
}
