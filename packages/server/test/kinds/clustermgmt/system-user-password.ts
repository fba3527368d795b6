/** Requests by which suites that cover every kind reach passwords of system accounts. */

import { accountId, SystemAccount } from '../../../src/domains/clustermgmt/system-accounts/accounts.ts'
import { clustermgmt, hostId } from '../../support/clustermgmt.ts'
import { at } from '../../support/field-bases.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

const path = `${clustermgmt}/system-user-passwords/${accountId('IPMI', hostId('hp-n01-a'), '')}/$actions/change-password`
const body = { newPassword: 'N3w.Passw0rd' }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.changeSystemUserPasswordById': [at(path, body)],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.change-system-user-password': async () => ({ method: 'POST', path, body }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.accounts': async ({ all }) => new Set((await all(SystemAccount)).map(({ extId }) => extId as string)),
}
