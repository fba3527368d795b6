/** Requests by which suites that cover every kind reach directory services. */

import { creating, named, updating } from '../../support/field-bases.ts'
import { adminPassword } from '../../support/start-app.ts'
import type { FieldBase } from '../kind.ts'

const directory = () => {
  const name = named('dir')
  return {
    name,
    url: `ldap://${name}.simulated`,
    domainName: `${name}.test`,
    directoryType: 'OPEN_LDAP',
    serviceAccount: { username: 'svc', password: adminPassword },
    openLdapConfiguration: {
      userConfiguration: {
        userObjectClass: 'inetOrgPerson',
        userSearchBase: `ou=people,dc=${name},dc=test`,
        usernameAttribute: 'uid',
      },
      userGroupConfiguration: {
        groupObjectClass: 'groupOfNames',
        groupSearchBase: `ou=groups,dc=${name},dc=test`,
        groupMemberAttribute: 'member',
        groupMemberAttributeValue: 'dn',
      },
    },
  }
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.createDirectoryService': [creating('/iam/v4.1.b2/authn/directory-services', directory)],
  'iam.updateDirectoryServiceById': [updating('/iam/v4.1.b2/authn/directory-services', directory)],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'iam.createDirectoryService url': ['ldap://other.simulated'],
  'iam.updateDirectoryServiceById url': ['ldap://other.simulated'],
  '* secondaryUrls': ['ldap://other.simulated'],
}
