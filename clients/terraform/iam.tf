# Users, roles, policies and a directory.
data "nutanix_operations_v2" "views" {
  filter = "startswith(displayName, 'View_')"
  limit  = 100
}

resource "nutanix_users_v2" "local" {
  username   = "terraform-user"
  first_name = "Terraform"
  last_name  = "User"
  user_type  = "LOCAL"
  password   = "Terraform.Passw0rd.1"
}

resource "nutanix_roles_v2" "viewer" {
  display_name = "terraform-viewer"
  description  = var.description
  operations   = [for operation in slice(data.nutanix_operations_v2.views.operations, 0, 3) : operation.ext_id]
}

resource "nutanix_authorization_policy_v2" "viewers" {
  display_name = "terraform-viewers"
  description  = var.description
  role         = nutanix_roles_v2.viewer.id
  identities {
    reserved = jsonencode({ user = { uuid = { anyof = [nutanix_users_v2.local.id] } } })
  }
  entities {
    reserved = jsonencode({ "*" = { "*" = { eq = "*" } } })
  }
}

resource "nutanix_directory_services_v2" "people" {
  name           = "terraform-people"
  url            = "ldaps://ldap.terraform.example:636"
  directory_type = "ACTIVE_DIRECTORY"
  domain_name    = "terraform.example"
  service_account {
    username = "svc@terraform.example"
    password = "Terraform.Passw0rd.2"
  }
  lifecycle {
    ignore_changes = [service_account.0.password]
  }
}

