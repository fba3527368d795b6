/** Requests by which suites that cover every kind reach customisation profiles. */
import { changing, deleting } from '../../restart/asked.ts'
import {
  answerFile,
  aProfile,
  of,
  profileBody,
  profiles,
  withParameters,
} from '../../support/customization-profiles.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { Creation, FieldBase, RestartScenario } from '../kind.ts'

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

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createVmGuestCustomizationProfile': [full, inDomain, withFile].map((body) => creating(profiles, body)),
  'vmm.updateVmGuestCustomizationProfileById': [full, inDomain, withFile].map((body) => updating(profiles, body)),
}

const language = ['de-DE']
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* systemLocale': language,
  '* uiLanguage': language,
  '* userLocale': language,
  '* unattendXml': ['<other/>'],
}
