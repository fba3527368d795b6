/** Requests by which suites that cover every kind reach certificates of clusters. */

import { tagged } from '../../restart/asked.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { at } from '../../support/field-bases.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

const path = `${clustermgmt}/clusters/${ids.native}/ssl-certificate`
const newKey = { privateKeyAlgorithm: 'RSA_2048' }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.updateSSLCertificate': [at(path, newKey)],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.update-ssl-certificate': (app) => tagged(app, 'PUT', path, newKey),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.certificates': ({ ids }) => ids('Cluster'),
}
