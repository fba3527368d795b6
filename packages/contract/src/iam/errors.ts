/** Source: behaviour iam.md 0; clients search for the words of its quoted messages. */
export const iamErrors = {
  AUTHORIZATION_ENTITY_NOT_FOUND: {
    code: 'IAM-20001',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'There is no {kind} {id} ({attribute}), or it is not visible.',
  },
  AUTHORIZATION_FILTER_INVALID: {
    code: 'IAM-20033',
    status: 400,
    message: '{attributePath}, position {position}: {fault}',
  },
  AUTHORIZATION_POLICY_ALREADY_EXISTS: {
    code: 'IAM-20030',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create authorization policy as already exists: choose another display name.',
  },
  DIRECTORY_CONNECTION_FAILED: {
    code: 'IAM-20021',
    status: 400,
    message: 'The directory at {url} cannot be used: {cause}.',
  },
  DIRECTORY_DOMAIN_ALREADY_EXISTS: {
    code: 'IAM-20013',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create directory service as a directory service for the same domain already exists',
  },
  DIRECTORY_SERVICE_ALREADY_EXISTS: {
    code: 'IAM-20013',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create directory service as directory service with name {name} already exists',
  },
  DIRECTORY_SERVICE_NOT_FOUND: {
    code: 'IAM-20004',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'Directory service not found: {id} ({attribute}).',
  },
  IDENTITY_PROVIDER_ALREADY_EXISTS: {
    code: 'IAM-20014',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'A {kind} with the same {fields} exists already. Choose another value.',
  },
  IDENTITY_PROVIDER_NOT_FOUND: {
    code: 'IAM-20005',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'There is no {kind} {id} ({attribute}), or it is not visible.',
  },
  KEY_ALREADY_EXISTS: {
    code: 'IAM-20011',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create key as there is a key with the same name.',
  },
  LAST_SUPER_ADMIN: {
    code: 'IAM-20018',
    status: 409,
    message: 'This would leave no active identity with the role Super Admin on everything.',
  },
  OLD_PASSWORD_MISMATCH: { code: 'IAM-20017', status: 403, message: 'The old password does not match.' },
  OPERATION_NOT_GRANTABLE: {
    code: 'IAM-20034',
    status: 400,
    message: '{attributePath}: the operation {id} is unknown, or no role may hold it.',
  },
  OWN_ACCOUNT: { code: 'IAM-20018', status: 409, message: 'Nobody can make the own account inactive.' },
  PASSWORD_CHANGE_REQUIRED: {
    code: 'IAM-20015',
    status: 403,
    message: 'The password must be changed first: only changeUserPassword is open until then.',
  },
  PASSWORD_POLICY_VIOLATED: { code: 'IAM-20016', status: 400, message: 'The new password is refused: {rule}.' },
  ROLE_ALREADY_EXISTS: {
    code: 'IAM-20030',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create role as already exists: choose another display name.',
  },
  ROLE_IN_USE: {
    code: 'IAM-20032',
    status: 409,
    group: 'ENTITY_IN_USE',
    message: 'The role "{name}" is in use by {count} authorization policies. Change those first.',
  },
  SYSTEM_DEFINED_ENTITY: {
    code: 'IAM-20031',
    status: 403,
    message: 'The {kind} "{name}" is system-defined; it cannot be modified or deleted.',
  },
  TRUST_MATERIAL_INVALID: { code: 'IAM-20022', status: 400, message: '{attributePath}: {fault}' },
  USER_ALREADY_EXISTS: {
    code: 'IAM-20010',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create user as a user already exists with given username.',
  },
  USER_GROUP_ALREADY_EXISTS: {
    code: 'IAM-20012',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'Failed to create the user group as an user group already exists with same DN',
  },
  USER_GROUP_NOT_FOUND: {
    code: 'IAM-20003',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'The requested {kind} {id} ({attribute}) is not there: the requested user group does not exist.',
  },
  USER_NOT_FOUND: {
    code: 'IAM-20002',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'There is no {kind} {id} ({attribute}), or it is not visible.',
  },
} as const

export const iamMessages = {
  AUTHORIZATION_POLICY_UPDATE_SUCCESS: { code: 'IAM-20035', message: 'The authorization policy was updated.' },
  REVOKE_USER_KEY_SUCCESS: { code: 'IAM-20036', message: 'Revoke user key successful.' },
  ROLE_UPDATE_SUCCESS: { code: 'IAM-20037', message: 'The role was updated.' },
} as const
