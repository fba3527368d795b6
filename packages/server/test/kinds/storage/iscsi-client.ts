/** Requests by which suites that cover every kind reach iSCSI clients of the older interface. */

import { once } from '../../support/field-bases.ts'
import { clients, older } from '../../support/volumes.ts'
import type { FieldBase } from '../kind.ts'
import { anAttachment } from '../volumes/iscsi-client.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'storage.updateIscsiClientById': [
    async (app) => ({
      path: `${older}/iscsi-clients/${await once(app, 'iscsi client', async () => (await anAttachment(app)).client)}`,
      readPath: `${clients}/${await once(app, 'iscsi client', async () => (await anAttachment(app)).client)}`,
      body: {},
    }),
    async (app) => {
      const { client } = await anAttachment(app)
      const body = { enabledAuthentications: 'CHAP', clientSecret: 'client-secret-1' }
      return { path: `${older}/iscsi-clients/${client}`, readPath: `${clients}/${client}`, body }
    },
  ],
}
